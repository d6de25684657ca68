// Memory of a set of processes, twice: cheaply and too high, or exactly.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace tony::os {

/// Resident bytes, added up: a page that several of the processes share counts for each of them, so
/// this is never less than what they use. Some microseconds a process.
int64_t ResidentBytes(const std::vector<pid_t>& processes);

/// Resident bytes where a shared page counts in parts, one for each process of the machine that
/// shares it. The kernel walks through all pages for that: about a millisecond for each GiB, for
/// which the process may have to wait. Of a process that does not let us look the resident bytes.
int64_t ProportionalBytes(const std::vector<pid_t>& processes);

}  // namespace tony::os
