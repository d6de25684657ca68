// The resources of one machine.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tony::core {

/// The totals, whether free or in use. Not thread safe (plain data).
struct Capacity {
  std::string host;       ///< name for people
  int64_t memory_mb = 0;  ///< MiB
  int vcores = 0;
  bool vcores_hard = false;  ///< false: vcores are only shares, and any number fits
  std::vector<int> gpus;     ///< indices of the devices
  /// A process on each device that is in use, for people: "process 4711 (python3) of bob".
  std::map<int, std::string> gpu_users;
  std::string gpu_note;  ///< reason why there may be more GPUs than known; empty: none

  bool operator==(const Capacity&) const = default;
};

}  // namespace tony::core
