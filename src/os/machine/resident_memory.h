// Memory of a set of processes: a cheap sum that is too high, and an exact one.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace tony::os {

/// Sum of the processes' resident bytes. A page shared by several of them counts for each, so the
/// sum is never less than their real use. Takes some microseconds for each process.
int64_t ResidentBytes(const std::vector<pid_t>& processes);

/// Sum of the processes' proportional bytes: a shared page is divided among all processes of the
/// machine that share it. The kernel walks through all pages for that, about a millisecond for each
/// GiB, and the process may have to wait meanwhile. A process that this one may not inspect counts
/// with its resident bytes.
int64_t ProportionalBytes(const std::vector<pid_t>& processes);

}  // namespace tony::os
