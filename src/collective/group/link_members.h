// Members that are connected by sockets: passes on their messages, and notices when one of them is
// gone.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collective/base/status.h"
#include "collective/group/group.h"
#include "collective/group/link_loop.h"
#include "collective/group/members.h"

namespace tony::collective {

/// A lost rank is noticed by its connection: the kernel closes it when the process ends, however it
/// ends. Thread safe but for group(), as every Members.
class LinkMembers : public Members {
 public:
  /// Starts the links. `peers`: on rank 0 the connections to all ranks, on each other rank the one
  /// to rank 0; connections to other ranks are only watched for their end. `transport`,
  /// `limitation`: see Members. ResourceExhausted – no descriptor is left.
  static Result<std::unique_ptr<LinkMembers>> Start(std::unique_ptr<Group> group,
                                                    std::string transport,
                                                    std::vector<LinkLoop::Peer> peers,
                                                    std::string limitation = {});
  ~LinkMembers() override;

  Group& group() override { return *group_; }
  const std::string& transport() const override { return transport_; }
  const std::string& limitation() const override { return limitation_; }
  void Listen(Callbacks callbacks) override;
  void Post(std::function<void()> work) override { links_->Post(std::move(work)); }
  void PostAt(Deadline when, std::function<void()> work) override {
    links_->PostAt(when, std::move(work));
  }
  void Leave() override;
  void Send(int rank, std::string_view message) override { links_->Send(rank, message); }

 private:
  LinkMembers(std::unique_ptr<Group> group, std::string transport, std::string limitation)
      : group_(std::move(group)),
        transport_(std::move(transport)),
        limitation_(std::move(limitation)) {}

  void Tell(std::function<void()> word);

  const std::unique_ptr<Group> group_;
  const std::string transport_;
  const std::string limitation_;
  // Used by the links' thread only:
  std::optional<Callbacks> callbacks_;
  std::vector<std::function<void()>> early_;
  std::unique_ptr<LinkLoop> links_;
};

}  // namespace tony::collective
