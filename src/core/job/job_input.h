// The inputs of a job's state machine: events from the backend, the executors, clients and the
// clock.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/ports/cluster_backend.h"
#include "core/record/verdict.h"
#include "core/rendezvous/rendezvous_wait.h"
#include "core/rendezvous/worker_hosts.h"
#include "core/tasks/task_exit.h"
#include "core/tasks/task_usage.h"

namespace tony::core {

namespace input {

/// The ApplicationMaster is up. After JobMachine::Replay the job goes on from the replayed
/// decisions; otherwise it begins.
struct Start {
  int incarnation = 1;  ///< of the ApplicationMaster
  std::string log_url;  ///< where the backend shows the ApplicationMaster's log; empty: nowhere
};

struct ContainerGranted {
  Container container;
};

struct AllocationWaiting {
  std::string what;
  std::string unblock;
};

struct AllocationRefused {
  bool never_fits = false;
  std::string sentence;
};

struct ContainerEnded {
  std::string container_id;
  ContainerEnd end;
};

/// The backend reports which process is the container's executor.
struct ExecutorStarted {
  std::string container_id;
  ExecutorProcess process;
};

/// The state of an executor that was attached before.
struct HeldTask {
  enum class Phase {
    kPreparing,   ///< it ends the old program, unpacks and reserves ports
    kRegistered,  ///< waits for the cluster spec, with `port` and `visualization_port`
    kRunning,     ///< the user's process runs, as `pid`
    kEnded,       ///< the process has ended, or could not be started: `exit`
  };
  Phase phase = Phase::kPreparing;
  int epoch = -1;   ///< the epoch it was prepared for last; -1: none
  int attempt = 0;  ///< the attempt it was prepared for last
  int port = 0;
  int visualization_port = 0;
  int64_t pid = 0;
  TaskExit exit;
};

/// The executor of a container opened a stream: its first one, or a later one with the task it
/// holds.
struct ExecutorAttached {
  std::string container_id;
  std::optional<HeldTask> held = {};
  std::string containment = {};  ///< the way in which it holds the task's processes together
  std::string boot_id = {};      ///< boot id of the machine's kernel; empty: not known
};

/// The executor's stream broke.
struct ExecutorDetached {
  std::string container_id;
};

/// The container has no process of an earlier epoch left, and its ports for `epoch` are reserved.
struct ExecutorRegistered {
  std::string container_id;
  int epoch = 0;
  int attempt = 0;
  int port = 0;
  int visualization_port = 0;  ///< 0: none
};

struct TaskStarted {
  std::string container_id;
  int epoch = 0;
  int attempt = 0;
  int64_t pid = 0;
};

struct TaskEnded {
  std::string container_id;
  int epoch = 0;
  int attempt = 0;
  TaskExit exit;
};

struct Heartbeat {
  std::string container_id;
  std::optional<TaskUsage> usage;       ///< the newest measurement
  int64_t sent = 0;                     ///< by the executor's own clock; 0: no answer is wanted
  std::vector<TaskUsage> earlier = {};  ///< those since the last heartbeat before it, oldest first
};

/// A foreign process listens on a port that was reserved for the task.
struct PortTaken {
  std::string container_id;
  int epoch = 0;
  int port = 0;
  std::string holder;
};

/// A sentence about a task for the job's notes: a part of its output was not kept, say.
struct TaskNote {
  std::string container_id;
  std::string sentence;
};

/// A task's program has printed nothing for tony.task.silence-note, or has printed something again.
struct TaskSilent {
  std::string container_id;
  int epoch = 0;
  int attempt = 0;
  int64_t silent_millis = 0;  ///< 0: it is not silent any more
  double cpu_share = 0;       ///< cores that it used meanwhile, on the average
};

/// A process of the task's user listens on the task's visualization port, or no longer does.
struct VisualizationListener {
  std::string container_id;
  int epoch = 0;
  int attempt = 0;
  bool listens = false;
};

/// A Horovod job's driver has planned the ranks.
struct RanksPlanned {
  std::string container_id;
  int epoch = 0;
  int attempt = 0;
  RendezvousPlan plan;
  std::string trouble = {};  ///< why there is no plan; empty when there is one
};

/// A Horovod job's driver reports which processes the others wait for.
struct RendezvousWait {
  std::string container_id;
  int epoch = 0;
  int attempt = 0;
  core::RendezvousWait wait;
};

/// The stacks that effect::KeepStacks has asked for are kept.
struct StacksKept {
  /// The task whose program is somewhere else than most, for which they seem to wait; nullopt:
  /// there is none, or there are several.
  std::optional<TaskId> suspect = {};
  /// After a second look: tasks with a process that was at another place at the look before.
  std::vector<TaskId> moved = {};
};

/// A user, the loss of the client or a signal asks for the end of the job.
struct StopRequested {
  Reason reason = Reason::kKilledByUser;
  std::string sentence;
};

/// Time has passed. The shell sends it no later than NextDeadline().
struct Tick {};

}  // namespace input

using JobInput =
    std::variant<input::Start, input::ContainerGranted, input::AllocationWaiting,
                 input::AllocationRefused, input::ContainerEnded, input::ExecutorStarted,
                 input::ExecutorAttached, input::ExecutorDetached, input::ExecutorRegistered,
                 input::TaskStarted, input::TaskEnded, input::Heartbeat, input::PortTaken,
                 input::TaskNote, input::TaskSilent, input::VisualizationListener,
                 input::RanksPlanned, input::RendezvousWait, input::StacksKept,
                 input::StopRequested, input::Tick>;

}  // namespace tony::core
