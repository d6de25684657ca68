// Current resource use of a set of processes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "common/clock.h"

namespace tony::os {

/// Sums over the given processes. A plain value.
struct ResourceUsage {
  Duration cpu_time{0};     // user and system time, including children already waited for
  int64_t rss_bytes = 0;    // resident bytes; pages shared by two of the processes count twice
  int64_t read_bytes = 0;   // bytes read from storage, not from the page cache
  int64_t write_bytes = 0;  // bytes written to storage
  int process_count = 0;    // number of the given processes that still exist
};

/// Reads /proc. A process that has gone, or whose numbers this process may not see, adds nothing.
/// `processes`: without duplicates. If a process ended and its parent did not wait for it, its CPU
/// time is counted at the keeper, which reaps it: include the keeper if sums must never shrink.
ResourceUsage ReadResourceUsage(const std::vector<pid_t>& processes);

}  // namespace tony::os
