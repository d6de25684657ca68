// How the ranks of one host meet, and notice that one of them is gone.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collective/deadline.h"
#include "collective/descriptor.h"
#include "collective/host_group.h"
#include "collective/link_loop.h"
#include "collective/members.h"
#include "collective/status.h"

namespace tony::collective {

/// The kernel closes a connection when a process ends, however it ends.
class HostMembers : public Members {
 public:
  ~HostMembers() override;

  HostGroup& group() override { return *group_; }
  void Listen(Callbacks callbacks) override;
  void Post(std::function<void()> work) override { links_->Post(std::move(work)); }
  void Leave() override;
  void Send(int rank, std::string_view message) override { links_->Send(rank, message); }

 private:
  friend class HostDoor;

  explicit HostMembers(std::unique_ptr<HostGroup> group) : group_(std::move(group)) {}
  static Result<std::unique_ptr<HostMembers>> Start(std::shared_ptr<SharedMemory> memory, int rank,
                                                    int ranks, std::vector<LinkLoop::Peer> peers);

  void Tell(std::function<void()> word);

  const std::unique_ptr<HostGroup> group_;
  // Both of the links' thread:
  std::optional<Callbacks> callbacks_;
  std::vector<std::function<void()>> early_;
  std::unique_ptr<LinkLoop> links_;
};

/// 1. Rank 0 opens a door, an abstract Unix socket whose address it tells the others by other
/// means.
/// 2. Each other rank enters with its rank and the secret.
/// 3. Whoever belongs there gets the shared memory; anybody else is sent away, and the wait goes
/// on. Both sides are processes of the same user, which the kernel says. Not thread safe.
class HostDoor {
 public:
  /// Longest secret, in bytes.
  static constexpr size_t kSecretBytes = 64;

  /// ResourceExhausted: no descriptor.
  static Result<std::unique_ptr<HostDoor>> Open();
  const std::string& address() const { return address_; }

  /// For rank 0: until ranks 1 … `ranks` - 1 have entered.
  /// DeadlineExceeded: names who is missing. ResourceExhausted: no shared memory.
  Result<std::unique_ptr<HostMembers>> Admit(int ranks, const std::string& secret,
                                             Deadline deadline);
  /// For another rank.
  /// FailedPrecondition: nobody is there, or it sends us away. DeadlineExceeded.
  static Result<std::unique_ptr<HostMembers>> Enter(const std::string& address, int rank, int ranks,
                                                    const std::string& secret, Deadline deadline);

 private:
  HostDoor(Descriptor door, std::string address)
      : door_(std::move(door)), address_(std::move(address)) {}

  const Descriptor door_;
  const std::string address_;
};

}  // namespace tony::collective
