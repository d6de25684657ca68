// Walks from the process's group up the hierarchy as long as a group is the container's own.
#include "os/containment/cgroup_meter.h"

#include <signal.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "os/files/proc_file.h"
#include "os/processes/process_tree.h"

namespace tony::os {
namespace {

// Programs that do nothing but start a container's own: the shells of a script that YARN or a
// Docker image runs first. Their memory is negligible.
constexpr std::array<absl::string_view, 6> kStarters = {"bash", "sh",          "dash",
                                                        "tini", "docker-init", "container-execu"};

bool IsStarter(pid_t pid, pid_t owner) {
  const std::string name = ReadProcFile(absl::StrCat("/proc/", pid, "/comm"));
  return absl::c_linear_search(kStarters, absl::StripSuffix(name, "\n")) && Descends(owner, pid);
}

/// Whether `group` holds `process`, and nothing but the container of `owner`.
bool HoldsOnlyContainer(const CgroupFolder& group, pid_t process, pid_t owner) {
  const std::vector<pid_t> members = group.Members();
  // A member may have ended since the list was read. /proc cannot tell, where it hides strangers.
  const auto gone = [](pid_t pid) { return ::kill(pid, 0) != 0 && errno == ESRCH; };
  return absl::c_linear_search(members, process) && absl::c_all_of(members, [&](pid_t member) {
           return member > 0 &&
                  (Descends(member, owner) || IsStarter(member, owner) || gone(member));
         });
}

/// The group in `folder` and those above it, up to the hierarchy's mount, as long as they are the
/// container's. Above the mount there is no cgroup.procs.
std::vector<CgroupFolder> OwnGroups(const std::string& folder, pid_t process, pid_t owner) {
  std::vector<CgroupFolder> own;
  for (std::string path = folder; !path.empty(); path.resize(path.rfind('/'))) {
    const CgroupFolder group(path);
    if (!group.Has("cgroup.procs") || !HoldsOnlyContainer(group, process, owner)) break;
    own.push_back(group);
  }
  return own;
}

/// The number in a file that has nothing else; -1: there is none.
int64_t Number(const CgroupFolder& group, const std::string& file) {
  int64_t number = 0;
  return absl::SimpleAtoi(group.Read(file), &number) && number >= 0 ? number : -1;
}

/// The number after `name` in a text of lines "NAME NUMBER"; -1: there is none.
int64_t Field(absl::string_view text, absl::string_view name) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    int64_t number = 0;
    if (absl::ConsumePrefix(&line, name) && absl::ConsumePrefix(&line, " ") &&
        absl::SimpleAtoi(line, &number)) {
      return number;
    }
  }
  return -1;
}

/// Reads the line "some avg10=0.00 avg60=0.00 avg300=0.00 total=MICROSECONDS".
double WaitSeconds(const CgroupFolder& group, const std::string& file) {
  constexpr absl::string_view kTotal = " total=";
  const std::string text = group.Read(file);
  const absl::string_view line = absl::string_view(text).substr(0, text.find('\n'));
  const size_t at = line.find(kTotal);
  int64_t micros = 0;
  if (!absl::StartsWith(line, "some ") || at == line.npos ||
      !absl::SimpleAtoi(line.substr(at + kTotal.size()), &micros)) {
    return -1;
  }
  return static_cast<double>(micros) / 1e6;
}

/// Takes the counters of throttling from `group` if it has had more periods than `usage` has.
void AddThrottling(const CgroupFolder& group, CgroupUsage& usage) {
  const std::string stat = group.Read("cpu.stat");
  const int64_t periods = Field(stat, "nr_periods");
  if (periods <= usage.periods) return;
  usage.periods = periods;
  usage.throttled_periods = Field(stat, "nr_throttled");
  const int64_t micros = Field(stat, "throttled_usec");  // version 2
  const int64_t nanos = Field(stat, "throttled_time");   // version 1
  usage.throttled_seconds = micros >= 0  ? static_cast<double>(micros) / 1e6
                            : nanos >= 0 ? static_cast<double>(nanos) / 1e9
                                         : -1;
}

}  // namespace

void CgroupMeter::Choose(pid_t process, pid_t owner) {
  const CgroupFolders folders = FindCgroupFolders(
      ReadProcFile(absl::StrCat(root_, "/proc/", process, "/cgroup")), root_ + "/sys/fs/cgroup");
  unified_ = OwnGroups(folders.unified, process, owner);
  memory_ = OwnGroups(folders.memory, process, owner);
  cpu_ = OwnGroups(folders.cpu, process, owner);
}

CgroupUsage CgroupMeter::Read() const {
  CgroupUsage usage;
  for (const CgroupFolder& group : unified_) {
    if ((usage.memory_bytes = Number(group, "memory.current")) < 0) continue;
    usage.max_memory_bytes = Number(group, "memory.peak");  // since Linux 5.19
    break;
  }
  if (usage.memory_bytes < 0 && !memory_.empty()) {
    usage.memory_bytes = Number(memory_[0], "memory.usage_in_bytes");
    usage.max_memory_bytes = Number(memory_[0], "memory.max_usage_in_bytes");
  }
  for (const CgroupFolder& group : unified_) AddThrottling(group, usage);
  for (const CgroupFolder& group : cpu_) AddThrottling(group, usage);
  if (!unified_.empty()) {
    usage.cpu_wait_seconds = WaitSeconds(unified_[0], "cpu.pressure");
    usage.memory_wait_seconds = WaitSeconds(unified_[0], "memory.pressure");
    usage.io_wait_seconds = WaitSeconds(unified_[0], "io.pressure");
  }
  return usage;
}

}  // namespace tony::os
