// Waiting for ranks of the same host.
#pragma once

#include <cstdint>
#include <vector>

#include "collective/base/deadline.h"
#include "collective/base/status.h"
#include "collective/host/host_layout.h"

namespace tony::collective {

/// Whether a wrapping counter has come to `wanted`.
inline bool HasReached(uint32_t counter, uint32_t wanted) {
  return static_cast<int32_t>(counter - wanted) >= 0;
}

/// 1. Looks at the other's counter in a tight loop, as long as a rank of its own core takes.
/// 2. Lets other threads run in between.
/// 3. Sleeps until a rank rings, in steps, so that a rank whose end nobody tells is noticed by the
///    deadline.
/// Not thread safe: of one rank.
class HostWait {
 public:
  /// `names`: by which this group's ranks are known in the memory of the host's whole group, `all`,
  /// where it is said who has failed or left. That is `host` itself, unless this one is a part.
  /// With more ranks than there are processors nobody loops.
  HostWait(HostMemory& host, HostMemory& all, std::vector<int> names);

  /// Until `counter` of `rank` has come to `wanted`.
  /// Aborted: a rank has failed or left. DeadlineExceeded: it has not come; then the group has
  /// failed because of it, for all.
  Status Until(const std::atomic<uint32_t>& counter, uint32_t wanted, int rank, Deadline deadline) {
    for (int turn = 0; turn < spins_; ++turn) {
      if (HasReached(counter.load(std::memory_order_acquire), wanted)) return {};
      Pause();
    }
    return UntilSlowly(counter, wanted, rank, deadline);
  }

  /// The own counter will change soon. Others have read it, so its cache line has to be fetched
  /// back from them, for which Publish() would wait.
  static void Prepare(std::atomic<uint32_t>& counter) {
#if defined(__x86_64__)
    asm volatile("prefetchw %0" : : "m"(counter));
#else
    __builtin_prefetch(&counter, 1);
#endif
  }
  /// The own counter's next value: wakes who sleeps.
  void Publish(std::atomic<uint32_t>& counter, uint32_t value) {
    // Who is about to sleep says so first and looks at the counter after that; here it is the other
    // way round. Of four operations in one order at least one side sees the other.
    counter.store(value, std::memory_order_seq_cst);
    if (host_.line.sleepers.load(std::memory_order_seq_cst) != 0) Ring(host_);
  }

  /// The group cannot be used any more, because of `rank`. The first one counts. Thread safe.
  void Fail(int rank) { Close(rank, 0); }
  /// Ok, or who has failed.
  Status Health() const;
  /// Ok, or who has failed, or that one of the others has left.
  Status WithAll() const {
    uint32_t gone = all_.line.failed_rank.load(std::memory_order_acquire);
    for (const int name : names_) gone |= LeftOf(name).load(std::memory_order_acquire);
    return gone == 0 ? Status() : WhoHasGone();
  }

 private:
  /// `why`: 0, or kLate.
  void Close(int rank, uint32_t why);
  /// Why `rank`, which has left, is waited for in vain.
  Status Left(int rank) const;
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
