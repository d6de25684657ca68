// One pass over /proc gives every process's parent; the chains of parents give the trees.
#include "os/processes/process_tree.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "os/files/proc_file.h"
#include "os/processes/process_identity.h"

namespace tony::os {
namespace {

struct ProcessEntry {
  pid_t pid = 0;
  pid_t parent = 0;
  bool dead = false;
};

/// Number of processes and threads started on this machine since it booted; -1 if /proc does not
/// tell.
int64_t Forks() {
  const std::string stat = ReadProcFile("/proc/stat");
  const size_t at = stat.find("\nprocesses ");
  return at == std::string::npos ? -1 : std::atoll(stat.c_str() + at + 11);
}

template <typename Function>
void ForEachNumber(const char* path, Function function) {
  DIR* folder = ::opendir(path);
  if (folder == nullptr) return;
  while (const dirent* entry = ::readdir(folder)) {
    if (std::isdigit(static_cast<unsigned char>(entry->d_name[0]))) {
      function(static_cast<pid_t>(std::atoi(entry->d_name)));
    }
  }
  ::closedir(folder);
}

template <typename Function>
void ForEachProcess(Function function) {
  ForEachNumber("/proc", function);
}

std::string ProcPath(pid_t pid, const char* file) {
  return "/proc/" + std::to_string(pid) + "/" + file;
}

// A process whose first thread has ended shows as a zombie, yet lives on while other threads run.
bool ParseStat(const std::string& stat, ProcessEntry& entry) {
  // The name between the parentheses may hold any character, also parentheses.
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return false;
  char state = 0;
  int parent = 0;
  long threads = 0;
  const int fields = std::sscanf(stat.c_str() + name_end + 1,
                                 " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
                                 "%*d %ld",
                                 &state, &parent, &threads);
  if (fields != 3) return false;
  entry.parent = parent;
  entry.dead = state == 'X' || (state == 'Z' && threads <= 1);
  return true;
}

// The children of all of its threads.
std::vector<pid_t> ChildrenOf(pid_t parent) {
  std::vector<pid_t> children;
  const std::string threads = ProcPath(parent, "task");
  ForEachNumber(threads.c_str(), [&](pid_t thread) {
    std::istringstream list(ReadProcFile(threads + "/" + std::to_string(thread) + "/children"));
    for (pid_t child; list >> child;) children.push_back(child);
  });
  return children;
}

/// All processes and their parents at about one moment. Not thread safe.
class ProcessTable {
 public:
  ProcessTable() {
    std::string stat;
    ForEachProcess([&](pid_t pid) {
      ProcessEntry entry{.pid = pid};
      if (ReadProcFile(ProcPath(pid, "stat"), stat) && ParseStat(stat, entry)) {
        entries_.push_back(entry);
      }
    });
    std::sort(entries_.begin(), entries_.end(),
              [](const ProcessEntry& a, const ProcessEntry& b) { return a.pid < b.pid; });
  }

  const std::vector<ProcessEntry>& entries() const { return entries_; }

  // Returns 0 if the process is not in the table.
  pid_t ParentOf(pid_t pid) const {
    const auto at =
        std::lower_bound(entries_.begin(), entries_.end(), pid,
                         [](const ProcessEntry& entry, pid_t value) { return entry.pid < value; });
    return at != entries_.end() && at->pid == pid ? at->parent : 0;
  }

  bool Descends(pid_t pid, pid_t ancestor) const {
    // The number of steps is bounded, because numbers that were reused during the pass could form a
    // circle.
    for (size_t steps = 0; pid != 0 && steps <= entries_.size(); ++steps) {
      pid = ParentOf(pid);
      if (pid == ancestor) return true;
    }
    return false;
  }

  /// Whether `pid` descends from `ancestor` without passing through any of `others`, and is none of
  /// them.
  bool DescendsPast(pid_t pid, pid_t ancestor, const std::set<pid_t>& others) const {
    for (size_t steps = 0; pid != 0 && steps <= entries_.size(); ++steps) {
      if (others.contains(pid)) return false;
      pid = ParentOf(pid);
      if (pid == ancestor) return true;
    }
    return false;
  }

 private:
  std::vector<ProcessEntry> entries_;
};

}  // namespace

std::vector<pid_t> Descendants(pid_t root) {
  const ProcessTable table;
  std::vector<pid_t> found;
  for (const ProcessEntry& entry : table.entries()) {
    if (!entry.dead && table.Descends(entry.pid, root)) found.push_back(entry.pid);
  }
  return found;
}

std::vector<pid_t> DescendantsAndZombies(pid_t root, const std::set<pid_t>& spared) {
  const ProcessTable table;
  std::vector<pid_t> found;
  for (const ProcessEntry& entry : table.entries()) {
    if (table.DescendsPast(entry.pid, root, spared)) found.push_back(entry.pid);
  }
  return found;
}

// The number of steps is bounded, because numbers that were reused meanwhile could form a circle.
bool Descends(pid_t pid, pid_t ancestor) {
  constexpr int kMostSteps = 1000;
  std::string stat;
  for (int steps = 0; pid > 0 && steps < kMostSteps; ++steps) {
    if (pid == ancestor) return true;
    ProcessEntry entry;
    if (!ReadProcFile(ProcPath(pid, "stat"), stat) || !ParseStat(stat, entry)) return false;
    pid = entry.parent;
  }
  return false;
}

std::map<std::string, pid_t> ProcessesByArgument(const std::string& prefix,
                                                 const std::string& program) {
  const ProcessTable table;
  std::map<std::string, pid_t> found;
  for (const ProcessEntry& entry : table.entries()) {
    if (entry.dead) continue;
    const std::optional<std::string> rest = ArgumentOf(entry.pid, prefix);
    if (!rest || !IsOwnProcess(entry.pid) || !Executes(entry.pid, program)) continue;
    const auto [known, added] = found.emplace(*rest, entry.pid);
    // If one of two matches descends from the other, the upper one stays.
    if (!added && table.Descends(known->second, entry.pid)) known->second = entry.pid;
  }
  return found;
}

// The kernel's lists of children may be incomplete while processes end, so this search is for
// measuring only.
std::vector<pid_t> LikelyDescendants(pid_t root) {
  if (::access("/proc/thread-self/children", F_OK) != 0) return Descendants(root);
  std::vector<pid_t> found;
  std::vector<pid_t> waiting = {root};
  std::string stat;
  while (!waiting.empty()) {
    const pid_t parent = waiting.back();
    waiting.pop_back();
    for (const pid_t child : ChildrenOf(parent)) {
      ProcessEntry entry;
      if (!ReadProcFile(ProcPath(child, "stat"), stat) || !ParseStat(stat, entry)) continue;
      if (!entry.dead) found.push_back(child);
      waiting.push_back(child);
    }
  }
  return found;
}

ForkMark ForkMark::At(pid_t pid) {
  ForkMark mark;
  mark.pid_ = pid;
  mark.forks_ = Forks();
  return mark;
}

pid_t ForkMark::OldestYounger() const {
  if (pid_ == 0 || forks_ < 0) return 0;
  // The kernel assigns numbers in ascending order, skipping those in use (assumed to be less than
  // half of all), until it starts again at the bottom.
  const int64_t last = std::atoll(ReadProcFile("/proc/sys/kernel/pid_max").c_str());
  const int64_t now = Forks();
  return now >= 0 && now - forks_ < (last - pid_) / 2 ? pid_ + 1 : 0;
}

std::vector<pid_t> ProcessesOfContainer(const std::string& container_id, const ForkMark& mark) {
  // Entries of the environment are separated by NUL. The needle includes both separators, so that
  // ids that begin alike are told apart.
  const std::string nul(1, '\0');
  const std::string needle = absl::StrCat(nul, kContainerIdVariable, "=", container_id, nul);
  const std::string_view first_entry = std::string_view(needle).substr(1);
  std::vector<pid_t> found;
  std::string environment;
  const pid_t oldest = mark.OldestYounger();
  ForEachProcess([&](pid_t pid) {
    if (pid < oldest || !ReadProcFile(ProcPath(pid, "environ"), environment)) return;
    environment.push_back('\0');
    if (!environment.starts_with(first_entry) && environment.find(needle) == std::string::npos) {
      return;
    }
    if (IsOwnProcess(pid)) found.push_back(pid);
  });
  return found;
}

std::vector<pid_t> TreeStrays(pid_t keeper, pid_t owner, const std::string& container_id,
                              const ForkMark& mark) {
  std::vector<pid_t> candidates = ProcessesOfContainer(container_id, mark);
  // The tree of all processes is read only if there are candidates at all, which is rare.
  std::erase_if(candidates, [&](pid_t pid) { return pid == keeper || pid == owner; });
  if (candidates.empty()) return candidates;
  const ProcessTable table;
  std::erase_if(candidates, [&](pid_t pid) {
    return table.Descends(pid, keeper) || table.Descends(pid, owner) ||
           table.Descends(keeper, pid) || table.Descends(owner, pid);
  });
  return candidates;
}

std::vector<pid_t> TreeMembers(pid_t keeper, pid_t owner, const std::string& container_id) {
  std::vector<pid_t> members = Descendants(keeper);
  const std::vector<pid_t> strays = TreeStrays(keeper, owner, container_id);
  members.insert(members.end(), strays.begin(), strays.end());
  return members;
}

}  // namespace tony::os
