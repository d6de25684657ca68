// Ranks that are connected: messages between them, and who is gone.
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

/// The kernel closes a connection when a process ends, however it ends.
class LinkMembers : public Members {
 public:
  /// `peers`: rank 0's to each, of each to rank 0; others are only watched. `transport` and
  /// `limitation`: as of Members. ResourceExhausted: no descriptor.
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
  // Both of the links' thread:
  std::optional<Callbacks> callbacks_;
  std::vector<std::function<void()>> early_;
  std::unique_ptr<LinkLoop> links_;
};

}  // namespace tony::collective
