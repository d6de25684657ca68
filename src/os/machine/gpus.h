// The machine's NVIDIA GPUs, as reported by nvidia-smi.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "common/clock.h"

namespace tony::os {

/// One GPU. A number that the driver does not report ("[N/A]") is -1.
struct Gpu {
  int index = 0;
  std::string uuid;  // "GPU-…", accepted by CUDA_VISIBLE_DEVICES
  std::string name;
  int64_t memory_total_bytes = -1;
  int64_t memory_used_bytes = -1;
  int utilization_percent = -1;
};

/// The GPUs, or none and the reason.
struct GpuInventory {
  std::vector<Gpu> gpus;
  std::string reason;  // a sentence about what failed; empty if nvidia-smi answered
};

/// A process that computes on a GPU. A plain value.
struct GpuProcess {
  pid_t pid = 0;
  std::string gpu_uuid;
};

/// The processes that compute on the machine's GPUs, as nvidia-smi reports them; none if it fails.
/// `nvidia_smi`, `limit`: as in DetectGpus(), and blocks like it.
std::vector<GpuProcess> FindGpuProcesses(const std::string& nvidia_smi, Duration limit);

/// The arguments, without the program's name, that FindGpuProcesses() passes.
std::vector<std::string> GpuProcessQueryArguments();

/// Parses the answer to GpuProcessQueryArguments(). Lines of another form are left out: nvidia-smi
/// writes a sentence if there is no process.
std::vector<GpuProcess> ParseGpuProcessQuery(const std::string& output);

/// Runs `nvidia_smi` (a path, or a name looked up in PATH) and parses its answer. `limit`: maximum
/// run time. If it does not exist or fails, there are no GPUs. Blocks: call it at the start, or
/// from a thread of its own.
GpuInventory DetectGpus(const std::string& nvidia_smi, Duration limit = std::chrono::seconds(10));

/// The arguments, without the program's name, that DetectGpus() passes.
std::vector<std::string> GpuQueryArguments();

/// Parses the answer to GpuQueryArguments(): one GPU per line. The first line that is not such a
/// record is named in `reason`.
GpuInventory ParseGpuQuery(const std::string& output);

}  // namespace tony::os
