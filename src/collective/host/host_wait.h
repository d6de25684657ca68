// Waits for counters of other ranks on the same host, and tells which rank has gone.
#pragma once

#include <cstdint>
#include <vector>

#include "collective/base/deadline.h"
#include "collective/base/status.h"
#include "collective/host/host_layout.h"

namespace tony::collective {

/// Whether a counter that wraps around has reached `wanted`.
inline bool HasReached(uint32_t counter, uint32_t wanted) {
  return static_cast<int32_t>(counter - wanted) >= 0;
}

/// 1. A spin wait on the other rank's counter, for longer than a rank on a core of its own takes.
/// 2. Polling that yields the processor in between.
/// 3. Sleep on a futex until a rank rings, in steps of a limited time, so that the deadline is
///    noticed even if a rank ends and nobody tells.
/// Not thread safe: of one rank.
class HostWait {
 public:
  /// `host`: the memory of this group. `all`: the memory of the host's whole group, which records
  /// the ranks that have failed or left; it is `host` itself unless this group is a subgroup.
  /// `names`: the number of each of this group's ranks in `all`.
  /// With more ranks than processors the wait does not spin.
  HostWait(HostMemory& host, HostMemory& all, std::vector<int> names);

  /// Waits until `counter`, which `rank` writes, has reached `wanted`.
  /// Aborted: a rank has failed or left. DeadlineExceeded: `rank` has not come; the group has then
  /// failed because of it, for all its ranks.
  Status Until(const std::atomic<uint32_t>& counter, uint32_t wanted, int rank, Deadline deadline) {
    for (int turn = 0; turn < spins_; ++turn) {
      if (HasReached(counter.load(std::memory_order_acquire), wanted)) return {};
      Pause();
    }
    return UntilSlowly(counter, wanted, rank, deadline);
  }

  /// Prefetches an own counter that will be published soon. Other ranks have read it, so its cache
  /// line is in their caches, and Publish() would have to wait for it.
  static void Prepare(std::atomic<uint32_t>& counter) {
#if defined(__x86_64__)
    asm volatile("prefetchw %0" : : "m"(counter));
#else
    __builtin_prefetch(&counter, 1);
#endif
  }
  /// Sets an own counter and wakes the ranks that sleep.
  void Publish(std::atomic<uint32_t>& counter, uint32_t value) {
    // No wake-up is lost: a waiting rank increments `sleepers` and then reads the counter; here the
    // counter is written and then `sleepers` is read. All four accesses are seq_cst, so at least
    // one side sees the other's write.
    counter.store(value, std::memory_order_seq_cst);
    if (host_.line.sleepers.load(std::memory_order_seq_cst) != 0) Ring(host_);
  }

  /// Marks the group as failed because `rank` has ended. The first failed rank is kept. Thread
  /// safe.
  void Fail(int rank) { Close(rank, 0); }
  /// Ok, or Aborted or DeadlineExceeded with the rank that has failed.
  Status Health() const;
  /// Ok, or the error of Health(), or Aborted: a rank of this group has left.
  Status WithAll() const {
    uint32_t gone = all_.line.failed_rank.load(std::memory_order_acquire);
    for (const int name : names_) gone |= LeftOf(name).load(std::memory_order_acquire);
    return gone == 0 ? Status() : WhoHasGone();
  }

 private:
  /// Records the failed rank and wakes the sleepers. `why`: 0 (it has ended) or kLate.
  void Close(int rank, uint32_t why);
  /// The error of a wait for `rank`, which has left. A failure of the group comes first.
  Status Left(int rank) const;
  /// The error of the first rank that has left, else that of Health().
  Status WhoHasGone() const;
  const std::atomic<uint32_t>& LeftOf(int name) const { return all_.Of(name).line.left; }
  int NameOf(int rank) const { return names_[static_cast<size_t>(rank)]; }
  static void Pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  Status UntilSlowly(const std::atomic<uint32_t>& counter, uint32_t wanted, int rank,
                     Deadline deadline);
  static void Ring(HostMemory& host);

  HostMemory& host_;
  HostMemory& all_;
  const std::vector<int> names_;
  const int spins_;
};

}  // namespace tony::collective
