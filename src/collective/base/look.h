// Short waits, which take less time than it takes to be woken.
#pragma once

#include <sched.h>

#include <chrono>

namespace tony::collective {

/// Longer than another rank of the host, or of the network, takes to answer.
inline constexpr auto kLookTime = std::chrono::microseconds(50);

/// Asks `ready()` again and again, for `time` at most, and lets other threads run in between. What
/// it said at last.
template <class Ready>
bool LookFor(std::chrono::microseconds time, Ready ready) {
  const auto end = std::chrono::steady_clock::now() + time;
  for (;;) {
    if (ready()) return true;
    if (std::chrono::steady_clock::now() >= end) return false;
    sched_yield();
  }
}

}  // namespace tony::collective
