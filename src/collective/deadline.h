// Until when something may take.
#pragma once

#include <chrono>

namespace tony::collective {

using Deadline = std::chrono::steady_clock::time_point;

inline Deadline After(std::chrono::milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

}  // namespace tony::collective
