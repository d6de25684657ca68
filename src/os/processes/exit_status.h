// How a process ended, as its parent learns it.
#pragma once

#include <sys/wait.h>

namespace tony::os {

/// Either `code` counts, or `signal` is not zero and counts. A plain value.
struct ExitStatus {
  int code = 0;              // what the process returned, 0 to 255
  int signal = 0;            // the signal that ended it, 0 when it exited by itself
  bool core_dumped = false;  // only with a signal

  bool ok() const { return code == 0 && signal == 0; }
};

/// From the status word of wait4() or waitpid().
inline ExitStatus ExitStatusFromWait(int status) {
  if (WIFSIGNALED(status)) {
    return {.signal = WTERMSIG(status), .core_dumped = WCOREDUMP(status) != 0};
  }
  return {.code = WEXITSTATUS(status)};
}

}  // namespace tony::os
