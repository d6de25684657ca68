// Facts about this process's machine, limited to the share that the process may use.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace tony::os {

/// The usable share of the machine. A plain value.
struct Machine {
  std::string host_name;
  std::string boot_id;  // changes with every boot; empty if /proc does not tell
  double cores =
      1;  // CPUs of the affinity mask, bounded by the cgroup's quota; may be fractional, like 1.5
  int64_t memory_bytes = 0;  // bytes, bounded by the cgroup's limit
  double load_average = 0;   // of the whole machine, over the last minute
};

/// Unavailable – /proc cannot be read.
absl::StatusOr<Machine> ReadMachine();

/// Machine::boot_id alone.
std::string BootId();

/// Milliseconds since the boot, including times in which the machine was suspended. Unlike the wall
/// clock it cannot be set.
int64_t UptimeMillis();

}  // namespace tony::os
