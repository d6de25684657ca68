// A handle of a process that need not be a child of this one, safe against reuse of its number.
#pragma once

#include <sys/types.h>

#include "absl/status/statusor.h"
#include "os/files/unique_fd.h"

namespace tony::os {

/// Destroying the handle does not end the process. Not thread safe.
class ProcessHandle {
 public:
  /// NotFound – no such process. ResourceExhausted, Unimplemented – as for Subprocess::Start().
  static absl::StatusOr<ProcessHandle> Open(pid_t pid);

  pid_t pid() const { return pid_; }
  /// Readable from the process's end on.
  int pidfd() const { return pidfd_.get(); }
  bool ended() const;
  /// Sends the signal `number`; no effect once the process has ended.
  void Signal(int number) const;

 private:
  ProcessHandle(pid_t pid, UniqueFd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}

  pid_t pid_;
  UniqueFd pidfd_;
};

}  // namespace tony::os
