// What lies between this process' GPU and others, for people.
#pragma once

#include <string>
#include <vector>

#include "collective/gpu/device.h"
#include "collective/gpu/nccl_library.h"

namespace tony::collective {

/// What can be seen without asking NCCL, which chooses among transports when ranks connect and says
/// only in its own log, in no fixed form, what it has chosen.
struct Transport {
  std::string nccl;    ///< version
  std::string driver;  ///< newest CUDA that it runs
  std::string gpu;     ///< its name
  int ordinal = 0;
  int devices = 1;  ///< that this process sees
  int peers = 0;    ///< of these, others whose memory this GPU reaches: NVLink or PCIe
  std::vector<std::string> infiniband;  ///< devices of the host
  std::string gpudirect;                ///< how network cards may reach the GPU's memory, or empty
};

/// `sys`: where the kernel's file system of devices is, "/sys".
Transport LookAtTransport(const NcclLibrary& nccl, const Device& device, const std::string& sys);

/// One sentence.
std::string Describe(const Transport& transport);

}  // namespace tony::collective
