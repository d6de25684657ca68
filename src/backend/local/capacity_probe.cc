// Settings win over what the machine reports; GPUs are probed only on request, because that is
// slow.
#include "backend/local/capacity_probe.h"

#include <algorithm>
#include <numeric>

#include "os/machine/gpus.h"

namespace tony::backend {

core::Capacity ProbeCapacity(const jobfile::LocalSettings& settings, const os::Machine& machine,
                             bool with_gpus) {
  core::Capacity capacity;
  capacity.host = machine.host_name;
  capacity.memory_mb =
      settings.memory_mb > 0 ? settings.memory_mb : machine.memory_bytes / (1024 * 1024);
  capacity.vcores_hard = settings.vcores > 0;
  capacity.vcores =
      capacity.vcores_hard ? settings.vcores : std::max(1, static_cast<int>(machine.cores));
  if (settings.gpus >= 0) {
    capacity.gpus.resize(static_cast<size_t>(settings.gpus));
    std::iota(capacity.gpus.begin(), capacity.gpus.end(), 0);
  } else if (with_gpus) {
    const os::GpuInventory inventory = os::DetectGpus(settings.gpu_program, settings.gpu_timeout);
    for (const os::Gpu& gpu : inventory.gpus) capacity.gpus.push_back(gpu.index);
    capacity.gpu_note = inventory.reason;
  }
  return capacity;
}

}  // namespace tony::backend
