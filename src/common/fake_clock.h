// A clock that a test moves by hand.
#pragma once

#include "common/clock.h"

namespace tony {

/// Starts at an arbitrary fixed time and stands still until advanced. Not thread safe.
class FakeClock : public Clock {
 public:
  TimePoint Now() const override { return now_; }
  int64_t UnixMillis() const override { return unix_millis_; }

  void Advance(Duration by) {
    now_ += by;
    unix_millis_ += std::chrono::duration_cast<std::chrono::milliseconds>(by).count();
  }

  /// Changes the wall clock alone, as when somebody sets it ahead or back.
  void SetWallClock(Duration by) {
    unix_millis_ += std::chrono::duration_cast<std::chrono::milliseconds>(by).count();
  }

 private:
  TimePoint now_{std::chrono::hours(1)};
  int64_t unix_millis_ = 1'700'000'000'000;
};

}  // namespace tony
