// The owner's side of the keeper, a small process that starts the user's program and ends its whole
// process tree.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "os/containment/containment_choice.h"
#include "os/files/unique_fd.h"
#include "os/processes/exit_status.h"

namespace tony::os {

struct KeeperCommand;
struct KeeperReport;

/// The program to start. The child gets its own session, no descriptors but 0, 1 and 2, and default
/// signal dispositions with an empty mask.
struct SpawnRequest {
  std::vector<std::string>
      arguments;        // the program first; without a '/' it is looked up in the child's PATH
  std::string program;  // this file is executed instead of arguments[0], unless empty
  std::vector<std::string> fallback;     // executed if `program` cannot be; a path first
  std::vector<std::string> environment;  // "NAME=value", complete; Spawn() adds TONY_CONTAINER_ID
  std::string working_folder;            // absolute; must exist
  int stdin_fd = -1;                     // for Exec(), which needs it; a program has /dev/null
  bool terminal = false;  // for Exec() only: stdin_fd is a terminal, which the child shall control
  int stdout_fd = -1;     // duplicated, so the caller may close its own after Spawn()
  int stderr_fd = -1;
  Duration leftover_grace =
      std::chrono::seconds(5);  // from SIGTERM to SIGKILL, for processes that outlive the program
};

/// The program runs: its exec succeeded.
struct KeeperStarted {
  pid_t pid = 0;
};

/// The program could not be started; no other event of this spawn follows.
struct KeeperSpawnFailed {
  std::string message;   // reason of the failure, for people
  int error_number = 0;  // ENOENT, EACCES, …
};

/// The program has ended; other processes of its tree may still be there.
struct KeeperExited {
  ExitStatus status;
  // CPU time of the program and of those descendants that it waited for.
  Duration user_time{0};
  Duration system_time{0};
  int64_t max_rss_bytes = 0;  // resident bytes of the largest single process
  ContainedMemory memory;     // of the whole tree, where the kernel counts it
};

/// No process of the tree is left; Spawn() may be called again.
struct KeeperTreeGone {
  int leftovers = 0;  // processes that outlived the program and were signalled
};

/// The command runs: its exec succeeded.
struct KeeperExecStarted {
  int exec = 0;  // its number, from Exec()
  pid_t pid = 0;
};

/// The command could not be started; no other event has its number.
struct KeeperExecFailed {
  int exec = 0;
  std::string message;   // reason of the failure, for people
  int error_number = 0;  // ENOENT, EACCES, …; ESRCH: there is no program to run it beside
};

/// The command has ended. Processes that it has started may run on, until the container ends.
struct KeeperExecExited {
  int exec = 0;
  ExitStatus status;
  bool with_tree = false;  ///< the program had ended, or the whole tree was being ended
};

/// The keeper itself has died, which only a SIGKILL from outside can cause. Next() has killed
/// everything that the keeper had started, and every other process below the owner: the keeper's
/// orphans become the owner's children, and nobody can tell them from the owner's other children.
/// The keeper is of no more use, and its fd() stays readable.
struct KeeperLost {
  int survivors = 0;  // processes that could not be killed within a second
};

/// The events of one spawn, in this order: SpawnFailed; or Started, Exited, TreeGone. The events of
/// one command, between Started and TreeGone: ExecFailed; or ExecStarted, ExecExited.
using KeeperEvent = std::variant<KeeperStarted, KeeperSpawnFailed, KeeperExited, KeeperTreeGone,
                                 KeeperExecStarted, KeeperExecFailed, KeeperExecExited, KeeperLost>;

/// The owner's handle. When the owner dies, in whatever way, the keeper kills the tree and exits.
/// Not thread safe: owned by the event loop, apart from Start().
class Keeper {
 public:
  /// Forks the keeper in the first way of containment that works on this machine among those that
  /// `options` allow, and makes the calling process a subreaper too. The calling process must not
  /// start anything else that is to outlive the keeper. Call it early in main(), before any thread
  /// exists and before descriptors are opened that matter to others. If no way works, a keeper is
  /// returned all the same, and its Spawn() explains why.
  /// InvalidArgument – `container_id` is empty or has a NUL. ResourceExhausted – no process or
  /// descriptor is available.
  static absl::StatusOr<std::unique_ptr<Keeper>> Start(const std::string& container_id,
                                                       const ContainmentOptions& options = {});

  /// Kills the keeper's tree with SIGKILL and ends the keeper; waits at most two seconds for that.
  ~Keeper();
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  /// Readable when Next() has an event. Nobody else may read from it.
  int fd() const { return socket_.get(); }
  /// Process id of the keeper: the root of the tree, for the functions of process_tree.h.
  pid_t pid() const { return pid_; }
  /// The way that holds the tree together, for `tony status`: "cgroup", "namespace",
  /// "process-tree"; empty if none of the allowed ways works.
  std::string containment_name() const { return containment_.way ? containment_.way->name() : ""; }
  /// Whether the kernel enforces ContainmentOptions::memory_bytes; otherwise the owner has to watch
  /// it.
  bool limits_memory() const { return containment_.way && containment_.way->limits_memory(); }
  /// The program's processes now, for measuring. Processes that start or end meanwhile may be
  /// missed.
  std::vector<pid_t> Processes() const;

  /// Asks the keeper to start the program; events report the result.
  /// InvalidArgument – no program, or a string holds a NUL. FailedPrecondition – the tree of an
  /// earlier spawn is not gone yet, or no way of containment works. Unavailable – the keeper is
  /// lost. ResourceExhausted – no descriptor or memory for the request.
  absl::Status Spawn(const SpawnRequest& request);

  /// Asks the keeper to start a command beside the program, in its containment. The command ends
  /// with the program at the latest. `exec`: a number of the caller's, for the events and
  /// EndExec(). The codes of Spawn(); FailedPrecondition – no program runs.
  absl::Status Exec(int exec, const SpawnRequest& request);

  /// Sends a signal to the command's process group. No effect on a command that has ended.
  /// Unavailable – the keeper is lost.
  absl::Status SignalExec(int exec, int number);

  /// Hangs the command up (SIGHUP to its session), and kills it with SIGKILL `grace` later. The
  /// only answer is ExecExited. No effect on a command that has ended. Unavailable – the keeper is
  /// lost.
  absl::Status EndExec(int exec, Duration grace);

  /// Lets the program run until `end`, by SystemClock. From then on the keeper suspends the whole
  /// tree (SIGSTOP), until a later call sets another end. So whoever stops the owner stops the
  /// program; and if owner, keeper and program were stopped together and continue, the first of
  /// owner and keeper to run suspends the program again. A suspended program has no grace: Kill()
  /// then kills it at once. Without a call there is no limit. Unavailable – the keeper is lost.
  absl::Status RenewLease(TimePoint end);

  /// Sends SIGTERM to the whole tree now and SIGKILL `grace` later, repeated until nothing is left.
  /// A second call can only shorten the grace. No effect when nothing runs. The only answer is
  /// TreeGone, which comes once per spawn. Unavailable – the keeper is lost.
  absl::Status Kill(Duration grace);

  /// The next event, or nothing if there is none yet. Never blocks, except for KeeperLost.
  std::optional<KeeperEvent> Next();

 private:
  // The result of choosing a way of containment.
  struct Contained {
    std::unique_ptr<Containment> way;  // nothing: none of the allowed ways works
    pid_t helper = 0;
    std::string error;  // why there is no way
  };

  Keeper(UniqueFd socket, pid_t pid, std::string container_id, Contained containment);
  static absl::StatusOr<std::unique_ptr<Keeper>> StartIn(const std::string& container_id,
                                                         std::unique_ptr<Containment> way);
  absl::Status Send(const KeeperCommand& command);
  absl::Status SendSpawn(const KeeperCommand& command, const SpawnRequest& request,
                         const std::vector<int>& streams);
  /// Keeps track of what runs.
  void Note(const KeeperReport& report);
  KeeperLost CleanUpAfterLoss();

  UniqueFd socket_;
  pid_t pid_;
  std::string container_id_;
  Contained containment_;
  pid_t program_ = 0;           // process id of the running program; 0: none
  std::map<int, pid_t> execs_;  // running commands beside it, by number
  bool occupied_ = false;       // between Spawn() and its last event
  bool lost_ = false;
};

}  // namespace tony::os
