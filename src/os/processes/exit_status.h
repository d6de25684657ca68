// How a process ended, as its parent learns it.
#pragma once

#include <sys/wait.h>

namespace tony::os {

/// Either `signal` is zero and `code` is valid, or `signal` is not zero and valid. A plain value.
struct ExitStatus {
  int code = 0;              // exit code, 0 to 255
  int signal = 0;            // the signal that ended it; 0: it exited by itself
  bool core_dumped = false;  // only with a signal

  bool ok() const { return code == 0 && signal == 0; }
};

/// Converts the status word of wait4() or waitpid().
inline ExitStatus ExitStatusFromWait(int status) {
  if (WIFSIGNALED(status)) {
    return {.signal = WTERMSIG(status), .core_dumped = WCOREDUMP(status) != 0};
  }
  return {.code = WEXITSTATUS(status)};
}

}  // namespace tony::os
