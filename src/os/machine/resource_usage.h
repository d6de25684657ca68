// What a set of processes uses now.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "common/clock.h"

namespace tony::os {

/// Sums over the processes asked for. A plain value.
struct ResourceUsage {
  Duration cpu_time{0};     // user and system, with that of children already waited for
  int64_t rss_bytes = 0;    // pages that two of the processes share count twice
  int64_t read_bytes = 0;   // from storage, not from the page cache
  int64_t write_bytes = 0;  // to storage
  int process_count = 0;    // of those asked for that still exist
};

/// Reads /proc; a process that is gone, or whose numbers we may not see, adds nothing. `processes`
/// without duplicates. The CPU time of a process that ended without its parent waiting is with the
/// keeper, who reaps it: ask for the keeper too when sums are to grow only.
ResourceUsage ReadResourceUsage(const std::vector<pid_t>& processes);

}  // namespace tony::os
