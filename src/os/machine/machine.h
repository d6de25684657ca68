// Facts about the machine that this process runs on, as far as this process may use it.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace tony::os {

/// What may be used here. A plain value.
struct Machine {
  std::string host_name;
  std::string boot_id;  // changes with every boot; empty when /proc does not tell
  double cores =
      1;  // CPUs of our affinity mask, bounded by the cgroup's quota (so it may be broken: 1.5)
  int64_t memory_bytes = 0;  // bounded by the cgroup's limit
  double load_average = 0;   // over the last minute, of the whole machine
};

/// Unavailable – /proc cannot be read.
absl::StatusOr<Machine> ReadMachine();

/// Machine::boot_id alone.
std::string BootId();

/// Milliseconds since the boot, those included in which the machine was suspended. Nobody sets it,
/// other than the wall clock.
int64_t UptimeMillis();

}  // namespace tony::os
