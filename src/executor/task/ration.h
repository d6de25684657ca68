// Spreads a costly measurement over time.
#pragma once

#include <time.h>

#include <algorithm>
#include <chrono>

#include "common/clock.h"

namespace tony::executor {

/// The processor time that this thread has used.
inline Duration ThreadTime() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + Duration(used.tv_nsec);
}

/// Lets a measurement run so seldom that it takes at most a share of one processor, whatever it
/// costs: that of a small program each time, that of a large one every few times. Not thread safe.
class Ration {
 public:
  /// `share`: 0.001 is a thousandth of a processor.
  explicit Ration(double share) : share_(share) {}

  bool Due(TimePoint now) const { return now >= next_; }
  /// The measurement began at `now` and took `cost` of processor time.
  void Spent(TimePoint now, Duration cost) {
    next_ = now + std::chrono::duration_cast<Duration>(cost / share_);
  }
  /// Measures if it is due, on this thread. Returns the processor time that this took; 0: it was
  /// not due.
  template <typename Measure>
  Duration Run(TimePoint now, Measure measure) {
    if (!Due(now)) return Duration(0);
    const Duration before = ThreadTime();
    measure();
    const Duration cost = ThreadTime() - before;
    Spent(now, cost);
    return cost;
  }

 private:
  const double share_;
  TimePoint next_;
};

}  // namespace tony::executor
