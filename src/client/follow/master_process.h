// Runs the ApplicationMaster as a child process of the client, on the local backend.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "os/files/unique_fd.h"
#include "os/processes/exit_status.h"
#include "os/processes/subprocess.h"
#include "storage/job_folder.h"

namespace tony::client {

class MasterStart;

/// A running ApplicationMaster. As long as this object and this process live, the ApplicationMaster
/// knows that its job has an owner. Not thread safe.
class MasterProcess {
 public:
  /// How the process is started.
  struct Options {
    bool detached = false;  ///< the job outlives the client
    bool leased = false;    ///< though detached, it ends without an owner; see tony.client.lease
    int guard_fd = -1;      ///< the lock on am_guard(), which a detached process inherits
    /// The locks of the job's checkpoint folder and of its step, which the ApplicationMaster and
    /// its executors inherit: while any process of the job lives, no other job gets them.
    std::vector<int> lock_fds;
    /// The sockets of the job's pages, which the ApplicationMaster inherits; see
    /// os::BindLoopbackSocket().
    std::vector<int> page_fds;
    /// The end of the socket pair with the job's launcher, which the ApplicationMaster inherits;
    /// -1: the job runs on this machine.
    int launcher_fd = -1;
    std::string launcher_host;  ///< the address of this machine at which the executors reach it
    int restarts = 0;      ///< how often the keeper of a detached ApplicationMaster starts it again
    Duration deadline{0};  ///< for its first answer
    /// The soft limit on open files of the users' programs; 0: this process's own.
    uint64_t open_files = 0;
    std::string predecessor;  ///< how the ApplicationMaster before this one ended; empty: none did
  };

  /// Starts an ApplicationMaster and waits for it, at most `options.deadline`. Blocks. The codes of
  /// MasterStart.
  static absl::StatusOr<MasterProcess> Start(const storage::JobFolder& folder,
                                             const Options& options);

  pid_t pid() const { return process_.pid(); }
  /// Readable once the process has ended.
  int pidfd() const { return process_.pidfd(); }
  /// How the process has ended; nullopt while it runs. Reaps it.
  std::optional<os::ExitStatus> End() { return process_.TryWait(); }
  bool ended() { return End().has_value(); }
  /// Kills the process and its keeper.
  void Kill() const;

 private:
  friend class MasterStart;
  MasterProcess(os::Subprocess process, os::UniqueFd socket)
      : process_(std::move(process)), socket_(std::move(socket)) {}

  os::Subprocess process_;
  os::UniqueFd socket_;  ///< its end tells the ApplicationMaster that this process is gone
};

/// How a lost ApplicationMaster ended: "was killed by signal 6 (SIGABRT); its log ends with: …".
/// Writes that into its log, too.
std::string DescribeLoss(const storage::JobFolder& folder, const os::ExitStatus& end);

/// An ApplicationMaster that was started and has not published its address yet. Destroying this
/// object does not end the process, but tells it that nobody wants it any more. Not thread safe.
class MasterStart {
 public:
  /// Starts this installation's tony-am. Codes of os::StartOwnProgram() and os::FindDaemon(), and
  /// of opening the log.
  static absl::StatusOr<MasterStart> Begin(const storage::JobFolder& folder,
                                           const MasterProcess::Options& options);

  /// Readable once the process has published its address, or has ended.
  int fd() const { return process_.socket_.get(); }
  /// To be called once, when fd() is readable. Unavailable – the process ended before it had an
  /// address; the message has the last lines of its log.
  absl::StatusOr<MasterProcess> Finish() &&;
  /// Kills the process, which was not ready in time. DeadlineExceeded, with the last lines of its
  /// log.
  absl::Status GiveUp() &&;

 private:
  MasterStart(MasterProcess process, std::string log_path)
      : process_(std::move(process)), log_path_(std::move(log_path)) {}
  /// Waits for a process that is about to end, so that its log is complete.
  void Reap();
  /// "its log PATH ends with", and the last lines.
  std::string EndOfLog() const;

  MasterProcess process_;
  std::string log_path_;
};

}  // namespace tony::client
