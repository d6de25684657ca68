// The machine's NVIDIA GPUs, as nvidia-smi tells.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/clock.h"

namespace tony::os {

/// One GPU. A number that the driver does not tell ("[N/A]") is -1.
struct Gpu {
  int index = 0;
  std::string uuid;  // "GPU-…", what CUDA_VISIBLE_DEVICES takes
  std::string name;
  int64_t memory_total_bytes = -1;
  int64_t memory_used_bytes = -1;
  int utilization_percent = -1;
};

/// GPUs, or none and the reason why.
struct GpuInventory {
  std::vector<Gpu> gpus;
  std::string reason;  // a sentence when something hindered; empty when nvidia-smi answered
};

/// Runs `nvidia_smi` (a path, or a name looked up in PATH) and reads its answer, for which it has
/// `limit`. Not being there or failing means no GPUs. Blocks: call it at start, or from a thread of
/// its own.
GpuInventory DetectGpus(const std::string& nvidia_smi, Duration limit = std::chrono::seconds(10));

/// The arguments after the program's name that DetectGpus() uses.
std::vector<std::string> GpuQueryArguments();

/// Reads the answer to GpuQueryArguments(): one GPU per line. Lines that are not such a record are
/// named in `reason`.
GpuInventory ParseGpuQuery(const std::string& output);

}  // namespace tony::os
