// Tries the file of version 2 first (`memory.max`, `memory.peak`, `memory.events`) and falls back
// to the file of version 1.
#include "os/containment/cgroup_memory.h"

#include <cstdlib>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"

namespace tony::os {
namespace {

// The value of `name` in text made of "name value" lines; 0 if it is missing.
int64_t Field(const std::string& text, const std::string& name) {
  std::istringstream words(text);
  std::string word;
  int64_t value = 0;
  while (words >> word >> value) {
    if (word == name) return value;
  }
  return 0;
}

}  // namespace

bool SetCgroupMemoryLimit(const CgroupFolder& group, int64_t bytes) {
  const std::string limit = absl::StrCat(bytes);
  if (group.Write("memory.max", limit) == 0) {
    // With memory.oom.group the kernel kills the whole program. A program that lost only one of its
    // processes is rarely of use, and might wait for that process for ever.
    group.Write("memory.oom.group", "1");
    group.Write("memory.swap.max", "0");
    return true;
  }
  if (group.Write("memory.limit_in_bytes", limit) != 0) return false;
  group.Write("memory.memsw.limit_in_bytes", limit);
  return true;
}

int64_t CgroupMemoryPeak(const CgroupFolder& group) {
  const std::string peak = group.Read("memory.peak");
  return std::atoll((peak.empty() ? group.Read("memory.max_usage_in_bytes") : peak).c_str());
}

void ResetCgroupMemoryPeak(const CgroupFolder& group) {
  group.Write("memory.max_usage_in_bytes", "0");
}

int CgroupMemoryKills(const CgroupFolder& group) {
  const std::string events = group.Read("memory.events");
  return static_cast<int>(
      Field(events.empty() ? group.Read("memory.oom_control") : events, "oom_kill"));
}

}  // namespace tony::os
