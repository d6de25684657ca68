// Combines the affinity mask, /proc/meminfo and the control groups into the share that this process
// may use.
#include "os/machine/machine.h"

#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "os/files/proc_file.h"
#include "os/machine/cgroup_limits.h"

namespace tony::os {
namespace {

int CoresOfAffinityMask() {
  std::array<cpu_set_t, 16> mask;  // room for 16384 CPUs; one cpu_set_t has 1024
  if (::sched_getaffinity(0, sizeof(mask), mask.data()) != 0) return 1;
  return std::max(1, CPU_COUNT_S(sizeof(mask), mask.data()));
}

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string HostName() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

}  // namespace

absl::StatusOr<Machine> ReadMachine() {
  const std::string memory = ReadProcFile("/proc/meminfo");
  long long total_kibibytes = 0;
  if (std::sscanf(memory.c_str(), "MemTotal: %lld kB", &total_kibibytes) != 1) {
    return absl::UnavailableError(
        "cannot read the machine's memory from /proc/meminfo: is /proc mounted?");
  }
  const CgroupLimits limits = ReadCgroupLimits(ReadProcFile("/proc/self/cgroup"), "/sys/fs/cgroup");
  Machine machine;
  machine.host_name = HostName();
  machine.boot_id = BootId();
  machine.cores = std::min<double>(CoresOfAffinityMask(), limits.cores);
  machine.memory_bytes = std::min<int64_t>(total_kibibytes * 1024, limits.memory_bytes);
  machine.load_average = std::atof(ReadProcFile("/proc/loadavg").c_str());
  return machine;
}

std::string BootId() { return FirstLine(ReadProcFile("/proc/sys/kernel/random/boot_id")); }

int64_t UptimeMillis() {
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000;
}

}  // namespace tony::os
