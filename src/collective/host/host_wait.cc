// The slow part of a wait: sched_yield(2) for a millisecond, then futex(2) on a bell that all ranks
// of the group share.
#include "collective/host/host_wait.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <string>
#include <thread>
#include <utility>

namespace tony::collective {
namespace {

using std::chrono::steady_clock;

constexpr int kSpins = 2000;  // about 50 microseconds
constexpr auto kYieldTime = std::chrono::milliseconds(1);
constexpr auto kSleepStep = std::chrono::milliseconds(100);

/// The futex is shared by processes, so FUTEX_PRIVATE_FLAG must not be set.
void Futex(std::atomic<uint32_t>& word, int operation, uint32_t value, const timespec* time) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), operation, value, time, nullptr, 0);
}

}  // namespace

HostWait::HostWait(HostMemory& host, HostMemory& all, std::vector<int> names)
    : host_(host),
      all_(all),
      names_(std::move(names)),
      spins_(names_.size() <= std::thread::hardware_concurrency() ? kSpins : 1) {}

void HostWait::Ring(HostMemory& host) {
  host.line.bell.fetch_add(1, std::memory_order_release);
  Futex(host.line.bell, FUTEX_WAKE, INT_MAX, nullptr);
}

void HostWait::Close(int rank, uint32_t why) {
  uint32_t nobody = 0;
  const auto name = static_cast<uint32_t>(NameOf(rank));
  all_.line.failed_rank.compare_exchange_strong(nobody, (name + 1) | why);
  // A rank that sleeps on the bell of another subgroup is not rung. It sees the failure when its
  // step ends, after kSleepStep at most.
  Ring(host_);
  if (&all_ != &host_) Ring(all_);
}

Status HostWait::Health() const {
  const uint32_t failed = all_.line.failed_rank.load(std::memory_order_acquire);
  if (failed == 0) return {};
  const std::string rank = "rank " + std::to_string((failed & ~kLate) - 1) + " of this host has ";
  if ((failed & kLate) != 0) return {Code::kDeadlineExceeded, rank + "not come in time"};
  return {Code::kAborted, rank + "ended"};
}

Status HostWait::Left(int rank) const {
  if (const Status health = Health(); !health.ok()) return health;
  return {Code::kAborted, "rank " + std::to_string(NameOf(rank)) + " of this host has left"};
}

Status HostWait::WhoHasGone() const {
  for (int rank = 0; rank < static_cast<int>(names_.size()); ++rank) {
    if (LeftOf(NameOf(rank)).load(std::memory_order_acquire) != 0) return Left(rank);
  }
  return Health();
}

Status HostWait::UntilSlowly(const std::atomic<uint32_t>& counter, uint32_t wanted, int rank,
                             Deadline deadline) {
  const auto reached = [&] { return HasReached(counter.load(std::memory_order_acquire), wanted); };
  const auto& left = LeftOf(NameOf(rank));
  const auto begin = steady_clock::now();
  const Deadline until = deadline.Since(begin);
  for (;;) {
    if (reached()) return {};
    if (const Status health = Health(); !health.ok()) return health;
    // The rank may have published its counter, or a failure may have been recorded, between the
    // checks above and its leaving. So the counter is read again here, and Left() checks the
    // health.
    if (left.load(std::memory_order_acquire) != 0 && !reached()) return Left(rank);
    const auto now = steady_clock::now();
    if (now >= until) {
      Close(rank, kLate);
      const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(now - begin);
      return {Code::kDeadlineExceeded, "rank " + std::to_string(NameOf(rank)) +
                                           " of this host has not come in " +
                                           std::to_string(waited.count()) + " ms"};
    }
    if (now - begin < kYieldTime) {
      sched_yield();
      continue;
    }
    // The bell is read before the last checks. If it rings after that, FUTEX_WAIT sees another
    // value and returns at once. The order of `sleepers` and the counter pairs with Publish().
    const uint32_t bell = host_.line.bell.load(std::memory_order_acquire);
    host_.line.sleepers.fetch_add(1, std::memory_order_seq_cst);
    if (!HasReached(counter.load(std::memory_order_seq_cst), wanted) && Health().ok() &&
        left.load(std::memory_order_seq_cst) == 0) {
      const auto step = std::chrono::duration_cast<std::chrono::nanoseconds>(
          std::min<steady_clock::duration>(kSleepStep, until - now));
      const timespec time = {.tv_sec = 0, .tv_nsec = step.count()};
      Futex(host_.line.bell, FUTEX_WAIT, bell, &time);
    }
    host_.line.sleepers.fetch_sub(1, std::memory_order_relaxed);
  }
}

}  // namespace tony::collective
