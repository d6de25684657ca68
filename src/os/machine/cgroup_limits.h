// The limits that the control groups of a process set on its cores and memory.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace tony::os {

/// The tightest limits of the group and of the groups above it; the defaults mean no limit. A plain
/// value.
struct CgroupLimits {
  double cores = std::numeric_limits<double>::infinity();
  int64_t memory_bytes = std::numeric_limits<int64_t>::max();
};

/// Reads hierarchies of version 2 and version 1. `membership`: the lines of /proc/PID/cgroup.
/// `mount_root`: the folder where the hierarchies are mounted (/sys/fs/cgroup). A file that cannot
/// be read sets no limit.
CgroupLimits ReadCgroupLimits(const std::string& membership, const std::string& mount_root);

}  // namespace tony::os
