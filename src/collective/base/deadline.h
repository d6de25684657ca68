// A time limit for an operation that consists of steps.
#pragma once

#include <algorithm>
#include <chrono>

namespace tony::collective {

/// A point in time, with a patience for each step. A wait for a rank that still moves data is
/// extended step by step by the patience of the whole operation: the rank is alive, however much
/// there is to move.
class Deadline : public std::chrono::time_point<std::chrono::steady_clock> {
 public:
  using Time = std::chrono::time_point<std::chrono::steady_clock>;

  using Time::time_point;
  /// `patience`: time for each step; 0: the whole operation ends at `time`.
  Deadline(Time time, duration patience = {}) : Time(time), patience_(patience) {}

  static Deadline max() { return Time::max(); }
  /// The deadline of a step that began, or last moved something, at `time`.
  Deadline Since(Time time) const { return std::max<Time>(*this, time + patience_); }

 private:
  duration patience_{};
};

inline Deadline After(std::chrono::milliseconds time) {
  return {std::chrono::steady_clock::now() + time, time};
}

}  // namespace tony::collective
