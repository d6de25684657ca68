// The events of a job: the one schema behind the terminal, `tony status`, pages and the history.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/model/task_id.h"
#include "core/record/verdict.h"
#include "core/tasks/job_state.h"
#include "core/tasks/task_exit.h"
#include "core/tasks/task_usage.h"

namespace tony::core {

/// The version of this schema, written into every history. It rises when a reader of the old
/// version would misunderstand the new one.
inline constexpr int kJobEventVersion = 1;

/// The first event: what the job consists of.
struct JobSubmitted {
  struct Type {
    std::string name;
    int instances = 0;
    bool tracked = true;  ///< the job waits for the ends of its tasks
    /// What each of its tasks has asked for; 0: unknown, or nothing.
    int64_t memory_mb = 0;
    int vcores = 0;
    int gpus = 0;
    bool operator==(const Type&) const = default;
  };
  std::string job_id;
  std::string name;
  std::string user;
  std::string framework;
  std::string backend;
  std::vector<Type> types;
  std::string log_folder;      ///< folder of the tasks' logs; empty when they stay on other hosts
  std::string master_log_url;  ///< link to the ApplicationMaster's log; empty: none
  bool operator==(const JobSubmitted&) const = default;
};

struct JobStateChanged {
  JobState state = JobState::kNew;
  int epoch = 0;
  std::string sentence;  ///< reason for the change; may be empty
  bool operator==(const JobStateChanged&) const = default;
};

/// The job waits: for what, which tasks are missing, what would unblock it. Each such event
/// replaces the previous one.
struct JobWaiting {
  std::string what;
  std::vector<std::string> missing;
  std::string unblock;
  bool operator==(const JobWaiting&) const = default;
};

struct TaskChanged {
  TaskId task;
  TaskState state = TaskState::kNew;
  int epoch = 0;
  int attempt = 0;        ///< starts of this task, from 1; 0 before the first
  std::string container;  ///< empty without one
  std::string host;
  int port = 0;     ///< the task's address in the cluster spec; 0 before registration
  int64_t pid = 0;  ///< pid of the user's process; 0 when it does not run
  std::optional<TaskExit> exit;
  std::string sentence;     ///< reason for the change; may be empty
  std::string containment;  ///< way of holding its processes together, such as "cgroup"; empty
                            ///< until its executor attaches
  std::string log_url;      ///< link to the container's logs; empty: none
  /// With kReady in a new container: how long ago its executor attached. 0: not known.
  int64_t registering_millis = 0;
  bool operator==(const TaskChanged&) const = default;
};

/// A failure has opened a new epoch.
struct EpochOpened {
  int epoch = 0;
  std::string cause;
  std::optional<TaskId> guilty;
  int retries_left = 0;                 ///< after failures of the user's program
  int infrastructure_retries_left = 0;  ///< after lost containers and executors
  bool lost = false;  ///< the cause is a loss, which counts against infrastructure_retries_left
  std::string error = {};  ///< the exception that the guilty task printed last; empty: none
  bool operator==(const EpochOpened&) const = default;
};

/// The job's TensorBoard (or notebook) listens at the task's visualization port, or no longer does.
/// It ends with the task's run, without another such event.
struct VisualizationReady {
  TaskId task;
  std::string url;  ///< empty: nothing listens there any more
  bool operator==(const VisualizationReady&) const = default;
};

/// The resources that a task's run has used. It becomes an event only when the run is over, with
/// the run's newest measurement, whose sums and peaks cover the whole run. Earlier measurements are
/// shown but not kept: see effect::ShowMeasurement.
struct TaskMeasured {
  TaskId task;
  TaskUsage usage;
  int attempt = 0;  ///< of the run; 0 in histories of earlier versions, which kept all samples
  bool operator==(const TaskMeasured&) const = default;
};

/// The ApplicationMaster was lost; another one has taken over and continues from the journal.
struct MasterRestarted {
  int incarnation = 0;  ///< incarnation of the new ApplicationMaster; the first is 1
  std::string log_url;  ///< link to its log; empty: none
  bool operator==(const MasterRestarted&) const = default;
};

/// Information for a person that changes no state.
struct JobNote {
  std::string sentence;
  bool operator==(const JobNote&) const = default;
};

/// The last event.
struct JobEnded {
  Verdict verdict;
  bool operator==(const JobEnded&) const = default;
};

using JobEventBody =
    std::variant<JobSubmitted, JobStateChanged, JobWaiting, TaskChanged, EpochOpened,
                 VisualizationReady, TaskMeasured, MasterRestarted, JobNote, JobEnded>;

/// An event as it is stored and sent.
struct JobEvent {
  int64_t sequence = 0;     ///< from 1, without gaps; 0: a measurement, which is no event
  int64_t unix_millis = 0;  ///< when, by the ApplicationMaster's clock
  JobEventBody body;
  bool operator==(const JobEvent&) const = default;
};

}  // namespace tony::core
