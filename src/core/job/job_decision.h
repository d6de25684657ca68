// The decisions of a job's state machine: entries of the journal that a later ApplicationMaster
// replays.
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

/// The container is bound to this task, and the task's earlier container is gone. The next effect
/// launches its executor.
struct ContainerBound {
  Container container;
  TaskId task;
  bool operator==(const ContainerBound&) const = default;
};

/// Every task of a gang has registered for `epoch`; the next effect tells all of them to start.
struct GangReleased {
  int epoch = 0;
  std::shared_ptr<const ClusterSpec> spec;  ///< lists the gang's tasks only
};

/// The driver of `epoch` has planned the ranks; the next effect tells the tasks with a rank to
/// start.
struct PlanAccepted {
  int epoch = 0;
  RendezvousPlan plan;
  bool operator==(const PlanAccepted&) const = default;
};

/// A task's run in this epoch has ended, with the exit that the verdict counts.
struct TaskConcluded {
  TaskId task;
  TaskExit exit;
  bool operator==(const TaskConcluded&) const = default;
};

/// A failure restarts tasks: all of them in a new epoch, or `tasks` in this epoch.
struct TasksRestarted {
  int epoch = 0;              ///< the new epoch, or the present one when it goes on
  std::vector<TaskId> tasks;  ///< empty when a new epoch begins
  std::string cause;
  std::optional<TaskId> guilty;
  RestartState budgets;         ///< after this restart was charged
  Duration delay{0};            ///< time that must pass before the programs start
  bool container_lost = false;  ///< elastic job, one task: it needs another container
  std::vector<TaskId> later;    ///< elastic job, new epoch: tasks that are not in its first gang
  bool operator==(const TasksRestarted&) const = default;
};

/// The job no longer waits for this type: it counts as untracked.
struct TrackingStopped {
  std::string type;
  bool operator==(const TrackingStopped&) const = default;
};

struct VerdictReached {
  Verdict verdict;
  bool operator==(const VerdictReached&) const = default;
};

/// The executor of a bound container runs as this process. This decision is noted after the launch,
/// so an ApplicationMaster that is lost between the two leaves no such entry.
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
