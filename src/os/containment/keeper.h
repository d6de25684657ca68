// The keeper seen from its owner: a small process that starts the user's program and ends its whole
// tree.
#pragma once

#include <sys/types.h>

#include <cstdint>
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

/// What to start. The child gets its own session, /dev/null as standard input, no descriptor but 0,
/// 1 and 2, and default signal dispositions with an empty mask.
struct SpawnRequest {
  std::vector<std::string>
      arguments;        // the program first; without a '/' it is looked up in the child's PATH
  std::string program;  // this file is executed instead of arguments[0], unless empty
  std::vector<std::string> fallback;  // executed should that file not be; a path first
  std::vector<std::string>
      environment;             // "NAME=value", complete; TONY_CONTAINER_ID is added by Spawn()
  std::string working_folder;  // absolute; must exist
  int stdout_fd = -1;          // duplicated, so the caller may close its own after Spawn()
  int stderr_fd = -1;
  Duration leftover_grace =
      std::chrono::seconds(5);  // TERM to KILL, for what outlives the program's own exit
};

/// The program runs: its exec succeeded.
struct KeeperStarted {
  pid_t pid = 0;
};

/// The program could not be started; no other event of this spawn follows.
struct KeeperSpawnFailed {
  std::string message;   // what could not be done and why, for people
  int error_number = 0;  // ENOENT, EACCES, …
};

/// The program has ended; the rest of its tree may still be there.
struct KeeperExited {
  ExitStatus status;
  // Of the program and those of its descendants that it waited for.
  Duration user_time{0};
  Duration system_time{0};
  int64_t max_rss_bytes = 0;  // of the largest single process
  ContainedMemory memory;     // of the whole tree, where the kernel counts it
};

/// No process of the tree is left; Spawn() may be called again.
struct KeeperTreeGone {
  int leftovers = 0;  // processes that outlived the program and were signalled
};

/// The keeper itself has died, which only somebody else's SIGKILL can cause. What it had started
/// has been killed by Next(), and so has all else below the owner, to whom orphans of the keeper
/// come: nobody can tell them from the owner's own children. The keeper is of no more use, and its
/// fd() stays readable.
struct KeeperLost {
  int survivors = 0;  // processes that could not be killed within a second
};

/// Of one spawn, in this order: SpawnFailed; or Started, Exited, TreeGone.
using KeeperEvent =
    std::variant<KeeperStarted, KeeperSpawnFailed, KeeperExited, KeeperTreeGone, KeeperLost>;

/// Owner's handle. When the owner dies, however it dies, the keeper kills the tree and goes.
/// Not thread safe: owned by the event loop, apart from Start().
class Keeper {
 public:
  /// Forks the keeper, in the first way of containment that works here of those that `options`
  /// allow, and makes the calling process a subreaper too. That one starts nothing else that is to
  /// outlive the keeper. Call it early in main(), before any thread exists and before descriptors
  /// are opened that matter to others. Where no way works there is a keeper all the same, which
  /// Spawn() then explains.
  /// InvalidArgument – `container_id` is empty or has a NUL. ResourceExhausted – no process or
  /// descriptor to be had.
  static absl::StatusOr<std::unique_ptr<Keeper>> Start(const std::string& container_id,
                                                       const ContainmentOptions& options = {});

  /// Ends the keeper and its tree, with SIGKILL; waits for that at most two seconds.
  ~Keeper();
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  /// Readable when Next() has an event. Not to be read by others.
  int fd() const { return socket_.get(); }
  /// The keeper's own process: the root of the tree, for ProcessTree questions.
  pid_t pid() const { return pid_; }
  /// How the tree is held together, for `tony status`: "cgroup", "namespace", "process-tree"; empty
  /// where none of those allowed works.
  std::string containment_name() const { return containment_.way ? containment_.way->name() : ""; }
  /// Whether the kernel enforces ContainmentOptions::memory_bytes; otherwise somebody has to watch.
  bool limits_memory() const { return containment_.way && containment_.way->limits_memory(); }
  /// The processes of the program now, for measuring. Those that start or end meanwhile may be
  /// missed.
  std::vector<pid_t> Processes() const;

  /// Asks for a start; events tell what came of it.
  /// InvalidArgument – no program, or a string holds a NUL. FailedPrecondition – the tree of an
  /// earlier spawn is not gone yet, or no way of containment works. Unavailable – the keeper is
  /// lost. ResourceExhausted – no descriptor or memory for the request.
  absl::Status Spawn(const SpawnRequest& request);

  /// The program may run until `end`, by SystemClock. From then on the keeper suspends the whole
  /// tree (SIGSTOP), until a later call sets another end: so whoever stops the owner stops the
  /// program, and when owner, keeper and program were stopped together and continue, the program is
  /// suspended again by the first of both that runs. Who is suspended has no grace: Kill() then
  /// kills at once. Without a call there is no limit. Unavailable – the keeper is lost.
  absl::Status RenewLease(TimePoint end);

  /// SIGTERM to the whole tree now, SIGKILL `grace` later, repeated until nothing is left. A second
  /// call can only shorten the grace. No effect when nothing runs: TreeGone is the one answer, and
  /// it comes once per spawn. Unavailable – the keeper is lost.
  absl::Status Kill(Duration grace);

  /// The next event, or nothing when there is none yet. Never blocks, but for KeeperLost.
  std::optional<KeeperEvent> Next();

 private:
  // What came of the choice.
  struct Contained {
    std::unique_ptr<Containment> way;  // nothing: none of those allowed works
    pid_t helper = 0;
    std::string error;  // why there is none
  };

  Keeper(UniqueFd socket, pid_t pid, std::string container_id, Contained containment);
  static absl::StatusOr<std::unique_ptr<Keeper>> StartIn(const std::string& container_id,
                                                         std::unique_ptr<Containment> way);
  KeeperLost CleanUpAfterLoss();

  UniqueFd socket_;
  pid_t pid_;
  std::string container_id_;
  Contained containment_;
  pid_t program_ = 0;      // which runs
  bool occupied_ = false;  // between Spawn() and its last event
  bool lost_ = false;
};

}  // namespace tony::os
