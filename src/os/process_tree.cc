// One pass over /proc gives every process's parent; chains of parents give the trees.
#include "os/process_tree.h"

#include <dirent.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "os/proc_file.h"

namespace tony::os {
namespace {

struct ProcessEntry {
  pid_t pid = 0;
  pid_t parent = 0;
  bool dead = false;
};

template <typename Function>
void ForEachProcess(Function function) {
  DIR* folder = ::opendir("/proc");
  if (folder == nullptr) return;
  while (const dirent* entry = ::readdir(folder)) {
    if (std::isdigit(static_cast<unsigned char>(entry->d_name[0]))) {
      function(static_cast<pid_t>(std::atoi(entry->d_name)));
    }
  }
  ::closedir(folder);
}

std::string ProcPath(pid_t pid, const char* file) {
  return "/proc/" + std::to_string(pid) + "/" + file;
}

// A process whose first thread has ended shows as a zombie, yet lives on while other threads run.
bool ParseStat(const std::string& stat, ProcessEntry& entry) {
  // The name between the parentheses may hold anything, parentheses too.
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

  // 0 when the process is not there.
  pid_t ParentOf(pid_t pid) const {
    const auto at =
        std::lower_bound(entries_.begin(), entries_.end(), pid,
                         [](const ProcessEntry& entry, pid_t value) { return entry.pid < value; });
    return at != entries_.end() && at->pid == pid ? at->parent : 0;
  }

  bool Descends(pid_t pid, pid_t ancestor) const {
    // Bounded, since numbers that were used again while reading could form a circle.
    for (size_t steps = 0; pid != 0 && steps <= entries_.size(); ++steps) {
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

std::vector<pid_t> ProcessesOfContainer(const std::string& container_id) {
  // Entries of the environment are separated by NUL, and so is the needle, so that ids that begin
  // alike stay apart.
  const std::string needle =
      std::string(1, '\0') + kContainerIdVariable + "=" + container_id + std::string(1, '\0');
  const std::string_view first_entry = std::string_view(needle).substr(1);
  std::vector<pid_t> found;
  std::string environment;
  ForEachProcess([&](pid_t pid) {
    if (!ReadProcFile(ProcPath(pid, "environ"), environment)) return;
    environment.push_back('\0');
    if (environment.starts_with(first_entry) || environment.find(needle) != std::string::npos) {
      found.push_back(pid);
    }
  });
  return found;
}

std::vector<pid_t> TreeStrays(pid_t keeper, pid_t owner, const std::string& container_id) {
  std::vector<pid_t> candidates = ProcessesOfContainer(container_id);
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
