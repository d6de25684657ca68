// Describes, for users, the hardware between this process' GPU and others.
#pragma once

#include <string>
#include <vector>

#include "collective/gpu/device.h"
#include "collective/gpu/nccl_library.h"

namespace tony::collective {

/// The facts that can be seen without NCCL. NCCL chooses a transport when ranks connect, and names
/// it only in its own log, in no fixed form.
struct Transport {
  std::string nccl;    ///< NCCL's version
  std::string driver;  ///< newest CUDA version that the driver supports
  std::string gpu;     ///< NVIDIA's name of the GPU
  int ordinal = 0;
  int devices = 1;  ///< number of GPUs that this process sees
  int peers = 0;    ///< number of other GPUs with memory in reach (NVLink, PCIe)
  std::vector<std::string> infiniband;  ///< names of the host's InfiniBand devices
  std::string gpudirect;  ///< how network cards can reach the GPU's memory; empty: they cannot
};

/// Collects the facts. `sys`: where sysfs is mounted, "/sys".
Transport DetectTransport(const NcclLibrary& nccl, const Device& device, const std::string& sys);

/// Puts the facts into one sentence.
std::string Describe(const Transport& transport);

}  // namespace tony::collective
