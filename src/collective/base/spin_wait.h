// Short polling waits, for events that come sooner than a sleeping thread can be woken.
#pragma once

#include <sched.h>

#include <chrono>

namespace tony::collective {

/// The time to poll: longer than another rank on this host or network takes to answer.
inline constexpr auto kSpinTime = std::chrono::microseconds(50);

/// Polls `ready()` for at most `time`, and lets other threads run between two polls. Returns the
/// last answer.
template <class Ready>
bool SpinFor(std::chrono::microseconds time, Ready ready) {
  const auto end = std::chrono::steady_clock::now() + time;
  for (;;) {
    if (ready()) return true;
    if (std::chrono::steady_clock::now() >= end) return false;
    sched_yield();
  }
}

}  // namespace tony::collective
