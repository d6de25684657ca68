// The rendezvous of the ranks of one host, which hands them their shared memory.
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

/// 1. Rank 0 opens a listener, an abstract Unix socket, and tells the others its address by other
/// means.
/// 2. Each other rank connects and sends its rank, the secret, and how long it waits. Rank 0
/// refuses connections that do not belong to the group, and goes on waiting.
/// 3. When all ranks have come, rank 0 sends each the descriptor of the shared memory. If a rank
/// does not come while the least patient rank waits, or a rank ends, rank 0 tells all which one.
/// Both sides ask the kernel whether the other process is of the same user. Not thread safe.
class HostAcceptor {
 public:
  /// Longest secret, in bytes.
  static constexpr size_t kSecretBytes = 64;

  /// ResourceExhausted: no descriptor.
  static Result<std::unique_ptr<HostAcceptor>> Open();
  /// The name of the abstract socket, without the leading zero byte.
  const std::string& address() const { return address_; }

  /// The result of the rendezvous for one rank.
  struct Meeting {
    std::shared_ptr<SharedMemory> memory;
    std::vector<LinkLoop::Peer> peers;  ///< on rank 0: to each other rank; elsewhere: to rank 0
  };
  /// Rank 0's side: waits until ranks 1 … `ranks` - 1 have entered, and hands them `memory`, which
  /// HostGroup::CreateMemory() has made.
  /// DeadlineExceeded: names the ranks that are missing. Aborted: a rank that had entered has
  /// ended.
  Result<Meeting> Gather(std::shared_ptr<SharedMemory> memory, int ranks, const std::string& secret,
                         Deadline deadline);
  /// Another rank's side: enters, and waits until all have entered.
  /// FailedPrecondition: rank 0 refuses this rank, or another user's process listens there.
  /// DeadlineExceeded, Aborted: as rank 0 says, or rank 0 does not answer or has ended.
  /// InvalidArgument: the secret or the address is too long.
  static Result<Meeting> Join(const std::string& address, int rank, int ranks,
                              const std::string& secret, Deadline deadline);

  /// Gather() and Join() for a job that is on this host only. Admit() makes the memory, too.
  /// The codes are those of Gather() and Join(). Also ResourceExhausted: no shared memory.
  Result<std::unique_ptr<LinkMembers>> Admit(int ranks, const std::string& secret,
                                             Deadline deadline);
  static Result<std::unique_ptr<LinkMembers>> Enter(const std::string& address, int rank, int ranks,
                                                    const std::string& secret, Deadline deadline);
  /// Makes the members of a job on one host from the result of Gather() or Join().
  static Result<std::unique_ptr<LinkMembers>> WithGroup(Result<Meeting> meeting, int rank,
                                                        int ranks);

 private:
  HostAcceptor(Descriptor listener, std::string address)
      : listener_(std::move(listener)), address_(std::move(address)) {}

  const Descriptor listener_;
  const std::string address_;
};

}  // namespace tony::collective
