// What the kernel counts in the control groups that hold a container's processes and no others.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "os/containment/cgroup_folder.h"

namespace tony::os {

/// Numbers of a control group; counters since it was made. -1: unknown. A plain value.
struct CgroupUsage {
  int64_t memory_bytes = -1;      ///< with the page cache
  int64_t max_memory_bytes = -1;  ///< highest so far
  int64_t periods = -1;           ///< in which the group ran under a limit on processor time
  int64_t throttled_periods = -1;
  double throttled_seconds = -1;  ///< how long threads were held back, summed over them
  double cpu_wait_seconds = -1;   ///< some thread waited for a processor
  double memory_wait_seconds = -1;
  double io_wait_seconds = -1;

  bool operator==(const CgroupUsage&) const = default;
};

/// 1. The groups are those of a process of the container, in version 2 and in version 1's
/// hierarchies
///    for memory and processors, and the groups above them.
/// 2. A group counts only if it holds nothing but the container's processes: descendants of the
///    owner (the executor), the owner, and shells or YARN's container-executor that have started
///    the owner. The numbers of a shared group would be false, so they stay unknown. Root's own
///    group is always shared.
/// 3. Memory and waiting are read from the lowest such group that counts them. Throttling is read
///    from the one with the most periods: the limit may be set at a group above, which then alone
///    counts.
/// Not thread safe.
class CgroupMeter {
 public:
  /// `root`: the root of the file system.
  explicit CgroupMeter(std::string root = "") : root_(std::move(root)) {}

  /// Chooses the groups of `process`. Reads /proc for each process in them. If the process has
  /// gone, or shares all its groups with strangers, none is chosen.
  void Choose(pid_t process, pid_t owner);
  /// Reads about eight files; nothing is known if no group was chosen.
  CgroupUsage Read() const;

 private:
  const std::string root_;
  // Lowest first.
  std::vector<CgroupFolder> unified_;
  std::vector<CgroupFolder> memory_;
  std::vector<CgroupFolder> cpu_;
};

}  // namespace tony::os
