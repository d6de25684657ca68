// Connects a LinkLoop to a Group: a rank whose connection ends without a goodbye fails the group.
// Messages that come before Listen() wait in `early_`.
#include "collective/group/link_members.h"

#include <utility>

namespace tony::collective {

Result<std::unique_ptr<LinkMembers>> LinkMembers::Start(std::unique_ptr<Group> group,
                                                        std::string transport,
                                                        std::vector<LinkLoop::Peer> peers,
                                                        std::string limitation) {
  std::unique_ptr<LinkMembers> members(
      new LinkMembers(std::move(group), std::move(transport), std::move(limitation)));
  LinkMembers* const self = members.get();
  const bool is_first = members->group_->rank() == 0;
  const auto on_message = [self, is_first](int from, std::string message) {
    if (!is_first && from != 0) return;
    self->Tell([self, from, message = std::move(message)]() mutable {
      self->callbacks_->on_message(from, std::move(message));
    });
  };
  const auto on_end = [self, is_first](int gone, bool in_order) {
    if (!in_order) self->group_->Fail(gone);
    if (!is_first && gone != 0) return;
    self->Tell([self, gone, in_order] { self->callbacks_->on_end(gone, in_order); });
  };
  auto links = LinkLoop::Start(std::move(peers), {.on_message = on_message, .on_end = on_end});
  if (!links.ok()) return links.status();
  members->links_ = std::move(*links);
  return members;
}

void LinkMembers::Tell(std::function<void()> word) {
  if (callbacks_) return word();
  early_.push_back(std::move(word));
}

void LinkMembers::Listen(Callbacks callbacks) {
  links_->Post([this, callbacks = std::move(callbacks)] {
    callbacks_ = callbacks;
    for (const auto& word : std::exchange(early_, {})) word();
  });
}

void LinkMembers::Leave() {
  group_->Leave();  // before the goodbyes tell the other ranks
  links_->Stop();
}

LinkMembers::~LinkMembers() {
  if (links_ != nullptr) Leave();
}

}  // namespace tony::collective
