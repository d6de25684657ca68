// Starts threads, with a clear message if that fails.
#pragma once

#include <system_error>
#include <thread>
#include <utility>

namespace tony::collective {

/// Starts a thread. Throws std::system_error, whose message says what to do, if no more threads are
/// possible.
template <typename Function>
std::thread StartThread(Function&& function) {
  try {
    return std::thread(std::forward<Function>(function));
  } catch (const std::system_error& error) {
    throw std::system_error(error.code(),
                            "no thread can be started (raise the limit of processes, ulimit -u or "
                            "the container's pids.max, or of memory)");
  }
}

}  // namespace tony::collective
