// Kills the container's control groups first, then the processes found by TONY_CONTAINER_ID in
// their environment or by descent.
#include "os/containment/container_remains.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <thread>
#include <vector>

#include "common/clock.h"
#include "common/logging.h"
#include "os/containment/cgroup_folder.h"
#include "os/processes/process_tree.h"

namespace tony::os {
namespace {

constexpr std::chrono::seconds kLimit{1};
constexpr int kLooks = 2;  // because a process in the middle of an exec shows no environment

// The processes that carry the container's id, with all their descendants, except for ancestors of
// this process and their trees.
std::set<pid_t> OrphansOf(const std::string& container_id) {
  const pid_t self = ::getpid();
  std::set<pid_t> orphans;
  for (const pid_t marked : ProcessesOfContainer(container_id)) {
    const std::vector<pid_t> below = Descendants(marked);
    const std::set<pid_t> tree(below.begin(), below.end());
    if (marked == self || tree.contains(self)) continue;
    orphans.insert(marked);
    orphans.insert(tree.begin(), tree.end());
  }
  return orphans;
}

// Reaps `processes`, and keeps those that still exist: a grandchild becomes the caller's child only
// when the processes between have ended. It waits for these ids only, so that no exit status is
// taken from anybody else.
void Reap(std::set<pid_t>& processes) {
  std::erase_if(processes, [](pid_t pid) {
    const pid_t reaped = ::waitpid(pid, nullptr, WNOHANG);
    return reaped > 0 || (reaped < 0 && ::kill(pid, 0) != 0 && errno == ESRCH);
  });
}

}  // namespace

int EndContainer(const std::string& container_id, ProcessesBelow below) {
  std::set<pid_t>& dying = below.dying;
  // The members are noted before they are killed: afterwards nobody can tell whose they were.
  for (const CgroupFolder& group : ContainerGroups(container_id)) {
    group.Freeze();
    for (const pid_t pid : group.Members()) dying.insert(pid);
  }
  RemoveContainerGroups(container_id);
  const SystemClock clock;
  const TimePoint deadline = clock.Now() + kLimit;
  int looks_in_vain = 0;
  while (true) {
    std::set<pid_t> orphans = OrphansOf(container_id);
    if (below.own) {
      // Zombies count too: the first process of a namespace ends only when its members that are
      // this process's children have been reaped.
      const std::vector<pid_t> others = DescendantsAndZombies(::getpid(), *below.own);
      orphans.insert(others.begin(), others.end());
    }
    for (const pid_t pid : orphans) ::kill(pid, SIGKILL);
    const size_t known = dying.size();
    dying.insert(orphans.begin(), orphans.end());
    if (dying.size() > known) {
      LogInfo("what was left of a container is killed",
              {{"container", container_id}, {"processes", dying.size()}});
    }
    Reap(dying);
    looks_in_vain = orphans.empty() && dying.empty() ? looks_in_vain + 1 : 0;
    if (looks_in_vain == kLooks || clock.Now() >= deadline) return static_cast<int>(orphans.size());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace tony::os
