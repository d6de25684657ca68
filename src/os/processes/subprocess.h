// A program started by this process, with a descriptor by which the event loop can wait for its
// end.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/files/unique_fd.h"
#include "os/processes/exit_status.h"

namespace tony::os {

/// The program to start. In the child, signal dispositions are the default ones, the mask is empty,
/// and no descriptors but 0, 1, 2 and `inherited_fds` are open.
struct SubprocessRequest {
  std::vector<std::string>
      arguments;  // the program first; without a '/' it is looked up in this process's PATH
  std::optional<std::vector<std::string>>
      environment;             // "NAME=value", complete; by default this process's own
  std::string working_folder;  // empty: this process's own
  int stdout_fd = -1;          // -1: /dev/null
  int stderr_fd = -1;
  std::vector<int> inherited_fds;  // become 3, 4, … in this order
  bool new_session = true;         // false: the terminal's Ctrl-C reaches the child too
};

/// Handle of a child. Destroying it neither ends nor reaps the child. Not thread safe.
class Subprocess {
 public:
  /// Starts the program and returns when its exec has succeeded or failed. May be called while
  /// other threads exist. InvalidArgument – no program. NotFound – no such program or working
  /// folder. PermissionDenied – not executable. ResourceExhausted – no process or descriptor.
  /// Unimplemented – Linux older than 5.3 (no pidfd).
  static absl::StatusOr<Subprocess> Start(const SubprocessRequest& request);

  /// The handle of a child of this process that another process has started and that nobody else
  /// reaps. ResourceExhausted, Unimplemented – as above, with `what` before the message; the child
  /// is killed.
  static absl::StatusOr<Subprocess> Adopt(pid_t child, const std::string& what);

  Subprocess(Subprocess&&) noexcept = default;
  Subprocess& operator=(Subprocess&&) noexcept = default;

  pid_t pid() const { return pid_; }
  /// Readable from the child's exit on.
  int pidfd() const { return pidfd_.get(); }

  /// The status if the child has ended. The first call after the end reaps the child; later calls
  /// give the same answer.
  std::optional<ExitStatus> TryWait();

  /// Sends the signal `number` unless the child is known to have been reaped.
  void Signal(int number) const;
  /// Does the same for the whole session that the child leads; only with `new_session`.
  void SignalSession(int number) const;

 private:
  Subprocess(pid_t pid, UniqueFd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}

  pid_t pid_;
  UniqueFd pidfd_;
  std::optional<ExitStatus> status_;
};

}  // namespace tony::os
