// The ApplicationMaster as a child process of the client, on the local backend.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "backend/job_folder.h"
#include "common/clock.h"
#include "os/subprocess.h"
#include "os/unique_fd.h"

namespace tony::client {

/// As long as it lives, and this process with it, the ApplicationMaster knows that there is
/// somebody to own its job. Not thread safe.
class MasterProcess {
 public:
  /// How it is started.
  struct Options {
    bool detached = false;  ///< the job outlives the client
    int guard_fd = -1;      ///< the lock on am_guard(), which a detached one inherits
    int restarts = 0;       ///< how often a detached one is started again by its keeper
    Duration deadline{0};   ///< for its first answer
    /// The soft limit on open files of the users' programs; 0: this process's own.
    uint64_t open_files = 0;
  };

  /// Starts tony-am (which lies beside this program) and waits until it has published its address.
  /// Unavailable – it ended before that; the message has the last lines of its log.
  /// DeadlineExceeded – it did not get ready within `deadline` and was killed.
  static absl::StatusOr<MasterProcess> Start(const backend::JobFolder& folder,
                                             const Options& options);

  pid_t pid() const { return process_.pid(); }
  /// Readable once the process has ended.
  int pidfd() const { return process_.pidfd(); }
  bool ended() { return process_.TryWait().has_value(); }
  /// Its keeper, too.
  void Kill() const;

 private:
  MasterProcess(os::Subprocess process, os::UniqueFd socket)
      : process_(std::move(process)), socket_(std::move(socket)) {}

  os::Subprocess process_;
  os::UniqueFd socket_;  ///< its end tells the ApplicationMaster that this process is gone
};

}  // namespace tony::client
