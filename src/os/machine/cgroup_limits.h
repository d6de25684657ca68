// What the control groups of a process allow it to use.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace tony::os {

/// The tightest limit of the group and those above it. A plain value.
struct CgroupLimits {
  double cores = std::numeric_limits<double>::infinity();
  int64_t memory_bytes = std::numeric_limits<int64_t>::max();
};

/// Reads version 2 and version 1 hierarchies. `membership` has the lines of /proc/PID/cgroup,
/// `mount_root` is the folder where the hierarchies are mounted (/sys/fs/cgroup). What cannot be
/// read limits nothing.
CgroupLimits ReadCgroupLimits(const std::string& membership, const std::string& mount_root);

}  // namespace tony::os
