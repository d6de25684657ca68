// What the job's state machine is told: by the backend, the executors, clients and the clock.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "core/ports/cluster_backend.h"
#include "core/record/verdict.h"
#include "core/rendezvous/rendezvous_wait.h"
#include "core/rendezvous/worker_hosts.h"
#include "core/tasks/task_exit.h"

namespace tony::core {

namespace input {

/// The ApplicationMaster is up. With decisions of earlier ones (JobMachine::Replay) the job goes
/// on.
struct Start {
  int incarnation = 1;  ///< of the ApplicationMaster
  std::string log_url;  ///< where the backend shows its log; empty: nowhere
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

/// The backend knows which process the container's executor is.
struct ExecutorStarted {
  std::string container_id;
  ExecutorProcess process;
};

/// What an executor that was attached before is at.
struct HeldTask {
  enum class Phase {
    kPreparing,   ///< ends what ran, unpacks, reserves ports
    kRegistered,  ///< waits for the cluster spec, with `port` and `visualization_port`
    kRunning,     ///< the user's process runs, as `pid`
    kEnded,       ///< it has ended, or could not be started: `exit`
  };
  Phase phase = Phase::kPreparing;
  int epoch = -1;   ///< for which it was prepared last; -1: not at all
  int attempt = 0;  ///< likewise
  int port = 0;
  int visualization_port = 0;
  int64_t pid = 0;
  TaskExit exit;
};

/// The executor of a container opened a stream: its first, or another one with what it holds.
struct ExecutorAttached {
  std::string container_id;
  std::optional<HeldTask> held = {};
  std::string containment = {};  ///< how it holds the task's processes together
  std::string boot_id = {};      ///< of the machine's kernel; empty: not known
};

/// The executor's stream broke.
struct ExecutorDetached {
  std::string container_id;
};

/// No process of an earlier epoch is left in the container and its ports of `epoch` are reserved.
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
  std::optional<TaskUsage> usage;
  int64_t sent = 0;  ///< by a clock of the executor's; 0: no answer is wanted
};

/// A stranger listens on a port that was reserved for the task.
struct PortTaken {
  std::string container_id;
  int epoch = 0;
  int port = 0;
  std::string holder;
};

/// A part of what the task's program printed was not kept.
struct LogLoss {
  std::string container_id;
  std::string sentence;
};

/// A Horovod job's driver has said who has which rank.
struct RanksPlanned {
  std::string container_id;
  int epoch = 0;
  int attempt = 0;
  RendezvousPlan plan;
  std::string trouble = {};  ///< in place of a plan: why there is none
};

/// A Horovod job's driver says for whom processes wait.
struct RendezvousWait {
  std::string container_id;
  int epoch = 0;
  int attempt = 0;
  core::RendezvousWait wait;
};

/// A person, the lost client or a signal wants the job to end.
struct StopRequested {
  Reason reason = Reason::kKilledByUser;
  std::string sentence;
};

/// Time went on; sent no later than NextDeadline().
struct Tick {};

}  // namespace input

using JobInput =
    std::variant<input::Start, input::ContainerGranted, input::AllocationWaiting,
                 input::AllocationRefused, input::ContainerEnded, input::ExecutorStarted,
                 input::ExecutorAttached, input::ExecutorDetached, input::ExecutorRegistered,
                 input::TaskStarted, input::TaskEnded, input::Heartbeat, input::PortTaken,
                 input::LogLoss, input::RanksPlanned, input::RendezvousWait, input::StopRequested,
                 input::Tick>;

}  // namespace tony::core
