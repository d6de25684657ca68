// Adds up /proc/PID/stat and /proc/PID/io of each process.
#include "os/machine/resource_usage.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "os/files/proc_file.h"

namespace tony::os {
namespace {

// Returns false if the text is not a stat line.
bool AddStat(const std::string& stat, ResourceUsage& usage) {
  const size_t name_end = stat.rfind(')');  // the name may hold any character
  if (name_end == std::string::npos) return false;
  unsigned long user = 0, system = 0;
  long children_user = 0, children_system = 0, resident_pages = 0;
  const int fields = std::sscanf(stat.c_str() + name_end + 1,
                                 " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %ld %ld "
                                 "%*d %*d %*d %*d %*u %*u %ld",
                                 &user, &system, &children_user, &children_system, &resident_pages);
  if (fields != 5) return false;
  const int64_t ticks = static_cast<int64_t>(user + system) + children_user + children_system;
  usage.cpu_time += Duration(ticks * (1'000'000'000 / ::sysconf(_SC_CLK_TCK)));
  usage.rss_bytes += int64_t{resident_pages} * ::sysconf(_SC_PAGESIZE);
  ++usage.process_count;
  return true;
}

int64_t Field(const std::string& text, const std::string& name) {
  const size_t at = text.find("\n" + name + ": ");
  return at == std::string::npos ? 0 : std::atoll(text.c_str() + at + name.size() + 3);
}

}  // namespace

ResourceUsage ReadResourceUsage(const std::vector<pid_t>& processes) {
  ResourceUsage usage;
  std::string text;
  for (const pid_t pid : processes) {
    const std::string folder = "/proc/" + std::to_string(pid);
    if (!ReadProcFile(folder + "/stat", text) || !AddStat(text, usage)) continue;
    if (!ReadProcFile(folder + "/io", text)) continue;
    usage.read_bytes += Field(text, "read_bytes");
    usage.write_bytes += Field(text, "write_bytes");
  }
  return usage;
}

}  // namespace tony::os
