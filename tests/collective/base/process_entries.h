// Counts this process's kernel objects, to detect leaks.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <iterator>
#include <vector>

#include "tests/common/eventually.h"

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
  Eventually([&] { return ProcessEntries() == before; });
  EXPECT_EQ(ProcessEntries(), before) << "threads and descriptors";
}

}  // namespace tony::collective
