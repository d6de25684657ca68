// Threads whose failure to start is a sentence.
#pragma once

#include <system_error>
#include <thread>
#include <utility>

namespace tony::collective {

/// Throws std::system_error, which says what to do, where there can be no more threads.
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
