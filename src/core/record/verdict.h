// The end of a job, for people, workflow systems and the history.
#pragma once

#include <optional>
#include <string>

#include "core/model/task_id.h"
#include "core/tasks/task_exit.h"

namespace tony::core {

enum class Outcome { kSucceeded, kFailed, kKilled };

/// The reason of a verdict. Every verdict has exactly one.
enum class Reason {
  kTasksSucceeded,   ///< all tracked tasks ended with code 0
  kSomeTasksFailed,  ///< some tracked tasks failed, which the job file tolerates
  kTaskFailed,       ///< a user's task ended with another code or a signal
  kOutOfMemory,      ///< a user's task used more memory than its container has
  kTaskNotStarted,   ///< a task's program, archive or environment could not be set up
  kTaskTimedOut,     ///< a task ran longer than tony.task.executor.execution-timeout-ms
  kTaskLost,         ///< a container or its executor went away, or had no room to start a program
  kHeartbeatLost,    ///< an executor was silent for longer than allowed
  kRegistrationTimeout,  ///< a task was not ready in time
  kAllocationTimeout,    ///< the containers were not granted in time
  kApplicationTimeout,   ///< the job ran longer than tony.application.timeout
  kDependencyTimeout,    ///< a type had not ended in time after a group of others
  kNeverFits,            ///< the request is larger than the whole machine or cluster
  kBackendFailed,        ///< the resource manager refused or failed
  kKilledByUser,         ///< Ctrl-C, `tony kill`
  kClientGone,           ///< the submitting client went away without stopping the job
  kMasterStopped,        ///< a signal told the ApplicationMaster to end
};

/// Stable names for machines, e.g. "TASK_FAILED".
std::string ReasonName(Reason reason);
/// "SUCCEEDED", "FAILED", "KILLED"
std::string OutcomeName(Outcome outcome);
/// Inverses of the names; nullopt for an unknown name.
std::optional<Reason> ParseReason(const std::string& name);
std::optional<Outcome> ParseOutcome(const std::string& name);

struct Verdict {
  Outcome outcome = Outcome::kFailed;
  Reason reason = Reason::kBackendFailed;
  std::string sentence;          ///< complete, with the guilty task and what happened to it
  std::optional<TaskId> guilty;  ///< the task that caused the end
  std::optional<TaskExit> exit;  ///< the guilty task's exit; nullopt: it has not ended

  bool operator==(const Verdict&) const = default;
};

/// Exit status of `tony-submit`: 0 succeeded, 1 the user's program failed, 3 infrastructure, 4
/// killed, 5 can never fit.
int ExitCode(const Verdict& verdict);

}  // namespace tony::core
