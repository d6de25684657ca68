// How the ranks of one host meet.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "collective/base/deadline.h"
#include "collective/base/descriptor.h"
#include "collective/base/status.h"
#include "collective/group/link_loop.h"
#include "collective/group/link_members.h"
#include "collective/host/host_group.h"

namespace tony::collective {

/// 1. Rank 0 opens a door, an abstract Unix socket whose address it tells the others by other
/// means.
/// 2. Each other rank enters with its rank, the secret, and how long it waits. Anybody who does not
/// belong there is sent away, and the wait goes on.
/// 3. When all are there, all get the shared memory; when one does not come while the least patient
/// one waits, or ends, all are told which.
/// Both sides are processes of the same user, which the kernel says. Not thread safe.
class HostDoor {
 public:
  /// Longest secret, in bytes.
  static constexpr size_t kSecretBytes = 64;

  /// ResourceExhausted: no descriptor.
  static Result<std::unique_ptr<HostDoor>> Open();
  const std::string& address() const { return address_; }

  /// What a rank has of the others.
  struct Place {
    std::shared_ptr<SharedMemory> memory;
    std::vector<LinkLoop::Peer> peers;  ///< rank 0's to each, of each to rank 0
  };
  /// For rank 0, with memory of HostGroup::CreateMemory: until ranks 1 … `ranks` - 1 have entered.
  /// DeadlineExceeded: names who is missing. Aborted: a rank that had entered has ended.
  Result<Place> Gather(std::shared_ptr<SharedMemory> memory, int ranks, const std::string& secret,
                       Deadline deadline);
  /// For another rank: until all have entered.
  /// FailedPrecondition: rank 0 sends us away. DeadlineExceeded, Aborted: as rank 0 says, or it is
  /// not there any more.
  static Result<Place> Come(const std::string& address, int rank, int ranks,
                            const std::string& secret, Deadline deadline);

  /// Both with nobody but this host's ranks. Also ResourceExhausted: no shared memory.
  Result<std::unique_ptr<LinkMembers>> Admit(int ranks, const std::string& secret,
                                             Deadline deadline);
  static Result<std::unique_ptr<LinkMembers>> Enter(const std::string& address, int rank, int ranks,
                                                    const std::string& secret, Deadline deadline);
  /// Of a place that was found, with these ranks.
  static Result<std::unique_ptr<LinkMembers>> WithGroup(Result<Place> place, int rank, int ranks);

 private:
  HostDoor(Descriptor door, std::string address)
      : door_(std::move(door)), address_(std::move(address)) {}

  const Descriptor door_;
  const std::string address_;
};

}  // namespace tony::collective
