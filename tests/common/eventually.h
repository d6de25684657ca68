// Waiting, with a deadline, for what nothing announces.
#pragma once

#include <chrono>
#include <thread>

namespace tony {

/// Whether the condition comes to hold within a minute, long enough for a loaded machine. It is
/// asked again and again on this thread; where an event says so, wait for that instead.
template <typename Condition>
bool Eventually(const Condition& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace tony
