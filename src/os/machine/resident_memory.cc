// Reads /proc/PID/statm for resident bytes and /proc/PID/smaps_rollup for proportional bytes.
#include "os/machine/resident_memory.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "os/files/proc_file.h"

namespace tony::os {
namespace {

int64_t ResidentBytesOf(pid_t pid) {
  long long size = 0, resident = 0;
  const std::string text = ReadProcFile("/proc/" + std::to_string(pid) + "/statm");
  if (std::sscanf(text.c_str(), "%lld %lld", &size, &resident) != 2) return 0;
  return resident * ::sysconf(_SC_PAGESIZE);
}

}  // namespace

int64_t ResidentBytes(const std::vector<pid_t>& processes) {
  int64_t bytes = 0;
  for (const pid_t pid : processes) bytes += ResidentBytesOf(pid);
  return bytes;
}

int64_t ProportionalBytes(const std::vector<pid_t>& processes) {
  int64_t bytes = 0;
  for (const pid_t pid : processes) {
    const std::string text = ReadProcFile("/proc/" + std::to_string(pid) + "/smaps_rollup");
    const size_t at = text.find("\nPss:");
    bytes += at == std::string::npos ? ResidentBytesOf(pid)
                                     : std::atoll(text.c_str() + at + 5) * int64_t{1024};
  }
  return bytes;
}

}  // namespace tony::os
