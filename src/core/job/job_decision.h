// What a job's state machine has decided: the journal from which a later ApplicationMaster goes on.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/clock.h"
#include "core/judge/restart_policy.h"
#include "core/model/cluster_spec.h"
#include "core/ports/cluster_backend.h"
#include "core/record/verdict.h"
#include "core/rendezvous/worker_hosts.h"
#include "core/tasks/task_exit.h"

namespace tony::core {

namespace decision {

/// The container is this task's; what the task was bound to before is gone. Its executor is
/// launched next.
struct ContainerBound {
  Container container;
  TaskId task;
  bool operator==(const ContainerBound&) const = default;
};

/// Everybody of a gang has registered for `epoch`; all are told to start next.
struct GangReleased {
  int epoch = 0;
  std::shared_ptr<const ClusterSpec> spec;  ///< of the gang's tasks alone
};

/// The driver of `epoch` has said who has which rank; those who have one are told to start next.
struct PlanAccepted {
  int epoch = 0;
  RendezvousPlan plan;
  bool operator==(const PlanAccepted&) const = default;
};

/// The end of a task's run in this epoch, as the verdict will count it.
struct TaskConcluded {
  TaskId task;
  TaskExit exit;
  bool operator==(const TaskConcluded&) const = default;
};

/// Tasks start anew because of a failure: all of them in a new epoch, or `tasks` in this one.
struct TasksRestarted {
  int epoch = 0;              ///< the new one, or the one that goes on
  std::vector<TaskId> tasks;  ///< empty: a new epoch
  std::string cause;
  std::optional<TaskId> guilty;
  RestartState budgets;         ///< with what this one has cost
  Duration delay{0};            ///< before the programs may start
  bool container_lost = false;  ///< of the one task, in an elastic job: it needs another one
  bool operator==(const TasksRestarted&) const = default;
};

/// Nobody waits for this type any longer: it counts as untracked.
struct TrackingStopped {
  std::string type;
  bool operator==(const TrackingStopped&) const = default;
};

struct VerdictReached {
  Verdict verdict;
  bool operator==(const VerdictReached&) const = default;
};

/// The executor of a bound container runs as this process. Noted after the launch, so an
/// ApplicationMaster that was lost in between leaves none.
struct ExecutorStarted {
  std::string container_id;
  ExecutorProcess process;
  bool operator==(const ExecutorStarted&) const = default;
};

}  // namespace decision

using Decision =
    std::variant<decision::ContainerBound, decision::GangReleased, decision::PlanAccepted,
                 decision::TaskConcluded, decision::TasksRestarted, decision::TrackingStopped,
                 decision::VerdictReached, decision::ExecutorStarted>;
using Decisions = std::vector<Decision>;

}  // namespace tony::core
