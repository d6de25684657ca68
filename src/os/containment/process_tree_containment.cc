// Combines a subreaper, the chains of parents in /proc, and a search for the container's id.
#include "os/containment/process_tree_containment.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "os/processes/process_tree.h"
#include "os/processes/reap_orphans.h"

namespace tony::os {

absl::Status ProcessTreeContainment::Enter(pid_t owner) {
  owner_ = owner;
  BecomeSubreaper();
  return absl::OkStatus();
}

std::vector<pid_t> ProcessTreeContainment::Signal(int number) {
  std::vector<pid_t> reached;
  for (const pid_t pid : TreeMembers(::getpid(), owner_, container_id_)) {
    if (::kill(pid, number) == 0) reached.push_back(pid);
  }
  return reached;
}

bool ProcessTreeContainment::Empty() {
  siginfo_t ignored;
  const int result = ::waitid(P_ALL, 0, &ignored, WEXITED | WNOHANG | WNOWAIT);
  const bool childless = result < 0 && errno == ECHILD;
  return childless && TreeStrays(::getpid(), owner_, container_id_, program_).empty();
}

}  // namespace tony::os
