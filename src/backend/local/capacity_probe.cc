// Settings win over what the machine reports; GPUs are probed only on request, because that is
// slow.
#include "backend/local/capacity_probe.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "os/files/files.h"
#include "os/files/user_names.h"
#include "os/machine/gpus.h"

namespace tony::backend {
namespace {

/// Less than this is what a driver or a desktop takes of an idle GPU.
constexpr int64_t kIdleBytes = int64_t{600} << 20;

std::string NameOf(pid_t pid) {
  const std::string folder = absl::StrCat("/proc/", pid);
  std::string program = os::ReadFile(folder + "/comm").value_or("");
  absl::StripAsciiWhitespace(&program);
  struct stat info {};
  const std::string of = stat(folder.c_str(), &info) == 0 ? " of " + os::UserName(info.st_uid) : "";
  return absl::StrCat("process ", pid, program.empty() ? "" : absl::StrCat(" (", program, ")"), of);
}

/// The GPUs that somebody uses. nvidia-smi is asked a second time only if there is a reason.
std::map<int, std::string> FindUsers(const os::GpuInventory& inventory,
                                     const jobfile::LocalSettings& settings) {
  const bool busy = std::any_of(inventory.gpus.begin(), inventory.gpus.end(),
                                [](const auto& gpu) { return gpu.memory_used_bytes > kIdleBytes; });
  std::map<int, std::string> users;
  if (!busy) return users;
  for (const os::GpuProcess& process :
       os::FindGpuProcesses(settings.gpu_program, settings.gpu_timeout)) {
    for (const os::Gpu& gpu : inventory.gpus) {
      if (gpu.uuid == process.gpu_uuid) users.emplace(gpu.index, NameOf(process.pid));
    }
  }
  return users;
}

}  // namespace

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
    capacity.gpu_users = FindUsers(inventory, settings);
  }
  return capacity;
}

}  // namespace tony::backend
