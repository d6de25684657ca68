// Walks from the group of a process up to the root of each hierarchy, and keeps the tightest limit.
#include "os/machine/cgroup_limits.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "os/files/proc_file.h"

namespace tony::os {
namespace {

// "max" and an unreadable file set no limit.
void ApplyMemory(const std::string& file, CgroupLimits& limits) {
  long long bytes = 0;
  if (std::sscanf(ReadProcFile(file).c_str(), "%lld", &bytes) != 1 || bytes <= 0) return;
  limits.memory_bytes = std::min<int64_t>(limits.memory_bytes, bytes);
}

void ApplyCores(double quota, double period, CgroupLimits& limits) {
  if (quota > 0 && period > 0) limits.cores = std::min(limits.cores, quota / period);
}

void ApplyVersion2(const std::string& folder, CgroupLimits& limits) {
  ApplyMemory(folder + "/memory.max", limits);
  double quota = 0, period = 0;
  if (std::sscanf(ReadProcFile(folder + "/cpu.max").c_str(), "%lf %lf", &quota, &period) == 2) {
    ApplyCores(quota, period, limits);
  }
}

void ApplyVersion1Memory(const std::string& folder, CgroupLimits& limits) {
  ApplyMemory(folder + "/memory.limit_in_bytes", limits);
}

void ApplyVersion1Cpu(const std::string& folder, CgroupLimits& limits) {
  ApplyCores(std::atof(ReadProcFile(folder + "/cpu.cfs_quota_us").c_str()),
             std::atof(ReadProcFile(folder + "/cpu.cfs_period_us").c_str()), limits);
}

// `path` begins with '/'. In a container it may name groups that are not mounted here; then the
// root of the mount is the container's own group, so the root is always read.
template <typename Apply>
void WalkUp(const std::string& mount, std::string path, Apply apply, CgroupLimits& limits) {
  while (path.size() > 1) {
    apply(mount + path, limits);
    path.resize(path.find_last_of('/'));
  }
  apply(mount, limits);
}

bool ListHas(const std::string& comma_separated, const std::string& name) {
  return ("," + comma_separated + ",").find("," + name + ",") != std::string::npos;
}

}  // namespace

CgroupLimits ReadCgroupLimits(const std::string& membership, const std::string& mount_root) {
  // A line of the membership tells the hierarchy's version by its list of controllers, which is
  // empty in version 2 only. Each likely mount point is tried; reading a missing one has no effect.
  CgroupLimits limits;
  std::istringstream lines(membership);
  std::string line;
  while (std::getline(lines, line)) {
    // A line "4:cpu,cpuacct:/group" belongs to version 1, "0::/group" to version 2.
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (!path.starts_with('/')) continue;
    if (controllers.empty()) {
      WalkUp(mount_root, path, ApplyVersion2, limits);
      WalkUp(mount_root + "/unified", path, ApplyVersion2, limits);
    }
    if (ListHas(controllers, "memory")) {
      WalkUp(mount_root + "/memory", path, ApplyVersion1Memory, limits);
    }
    if (ListHas(controllers, "cpu")) {
      WalkUp(mount_root + "/" + controllers, path, ApplyVersion1Cpu, limits);
      WalkUp(mount_root + "/cpu", path, ApplyVersion1Cpu, limits);
    }
  }
  return limits;
}

}  // namespace tony::os
