// PR_SET_CHILD_SUBREAPER and a loop of waitpid().
#include "os/processes/reap_orphans.h"

#include <sys/prctl.h>
#include <sys/wait.h>

namespace tony::os {

void BecomeSubreaper() { ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }

void ReapOrphans() {
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

}  // namespace tony::os
