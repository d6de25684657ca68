// What one machine has to give.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tony::core {

/// The totals, free or not. Not thread safe (plain data).
struct Capacity {
  std::string host;       ///< as shown to people
  int64_t memory_mb = 0;  ///< MiB
  int vcores = 0;
  bool vcores_hard = false;  ///< false: vcores are only shares, any number fits
  std::vector<int> gpus;     ///< indices of the devices
  std::string gpu_note;      ///< why there may be more GPUs than known; empty: nothing hindered

  bool operator==(const Capacity&) const = default;
};

}  // namespace tony::core
