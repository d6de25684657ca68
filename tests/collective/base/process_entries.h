// What this process has of the kernel's: whether something is left behind.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <thread>
#include <vector>

#include "collective/base/deadline.h"
#include "tests/collective/patience.h"

namespace tony::collective {

/// How many threads and descriptors.
inline std::vector<ptrdiff_t> ProcessEntries() {
  std::vector<ptrdiff_t> counts;
  for (const char* folder : {"/proc/self/task", "/proc/self/fd"}) {
    const std::filesystem::directory_iterator entries(folder);
    counts.push_back(std::distance(begin(entries), end(entries)));
  }
  return counts;
}

/// As many as `before`, soon: a thread that was waited for is in the list for a moment still.
inline void ExpectProcessEntries(const std::vector<ptrdiff_t>& before) {
  const Deadline deadline = After(kPatience);
  while (ProcessEntries() != before && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  EXPECT_EQ(ProcessEntries(), before) << "threads and descriptors";
}

}  // namespace tony::collective
