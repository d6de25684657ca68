// The clock as a constructor argument: the system's clock here, a fake one in fake_clock.h.
#pragma once

#include <chrono>
#include <cstdint>

namespace tony {

using Duration = std::chrono::nanoseconds;
/// A point on the monotonic clock: for deadlines and intervals, never shown to a person.
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

/// Source of time. Implementations are thread safe.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Monotonic time.
  virtual TimePoint Now() const = 0;
  /// Milliseconds since 1970-01-01 UTC, for records that people and other hosts read.
  virtual int64_t UnixMillis() const = 0;
};

/// The machine's monotonic clock and wall clock. Thread safe.
class SystemClock : public Clock {
 public:
  TimePoint Now() const override { return std::chrono::steady_clock::now(); }
  int64_t UnixMillis() const override {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
};

}  // namespace tony
