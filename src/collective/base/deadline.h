// Until when something may take.
#pragma once

#include <algorithm>
#include <chrono>

namespace tony::collective {

/// A time. Who waits step by step for others that move gives each step as long as the whole was
/// given: they are alive, however much there is to move.
class Deadline : public std::chrono::time_point<std::chrono::steady_clock> {
 public:
  using Time = std::chrono::time_point<std::chrono::steady_clock>;

  using Time::time_point;
  /// `patience`: for each step; 0: all of it ends then.
  Deadline(Time time, duration patience = {}) : Time(time), patience_(patience) {}

  static Deadline max() { return Time::max(); }
  /// Of a step that began, or in which something moved last, at `time`.
  Deadline Since(Time time) const { return std::max<Time>(*this, time + patience_); }

 private:
  duration patience_{};
};

inline Deadline After(std::chrono::milliseconds time) {
  return {std::chrono::steady_clock::now() + time, time};
}

}  // namespace tony::collective
