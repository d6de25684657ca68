// What the job's state machine is told: by the backend, the executors, clients and the clock.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "core/job/task_exit.h"
#include "core/job/verdict.h"
#include "core/ports/cluster_backend.h"

namespace tony::core {

namespace input {

/// The ApplicationMaster is up.
struct Start {};

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

/// The executor of a container opened its stream.
struct ExecutorAttached {
  std::string container_id;
};

/// No process of an earlier epoch is left in the container and its ports of `epoch` are reserved.
struct ExecutorRegistered {
  std::string container_id;
  int epoch = 0;
  int port = 0;
  int visualization_port = 0;  ///< 0: none
};

struct TaskStarted {
  std::string container_id;
  int epoch = 0;
  int64_t pid = 0;
};

struct TaskEnded {
  std::string container_id;
  int epoch = 0;
  TaskExit exit;
};

struct Heartbeat {
  std::string container_id;
  std::optional<TaskUsage> usage;
};

/// A stranger listens on a port that was reserved for the task.
struct PortTaken {
  std::string container_id;
  int epoch = 0;
  int port = 0;
  std::string holder;
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
                 input::AllocationRefused, input::ContainerEnded, input::ExecutorAttached,
                 input::ExecutorRegistered, input::TaskStarted, input::TaskEnded, input::Heartbeat,
                 input::PortTaken, input::StopRequested, input::Tick>;

}  // namespace tony::core
