// How a job ended, for a person, a workflow system and the history.
#pragma once

#include <optional>
#include <string>

#include "core/model/task_id.h"
#include "core/tasks/task_exit.h"

namespace tony::core {

enum class Outcome { kSucceeded, kFailed, kKilled };

/// Why the job ended as it did. Every verdict has exactly one.
enum class Reason {
  kTasksSucceeded,   ///< all tracked tasks ended with code 0
  kSomeTasksFailed,  ///< some tracked tasks failed, which the job file tolerates
  kTaskFailed,       ///< a task of the user's ended with another code or a signal
  kOutOfMemory,      ///< a task of the user's used more memory than its container has
  kTaskNotStarted,   ///< a task's program, archive or environment could not be set up
  kTaskTimedOut,     ///< a task ran longer than tony.task.executor.execution-timeout-ms
  kTaskLost,         ///< a container or its executor went away, or had no room to start a program
  kHeartbeatLost,    ///< an executor was silent for longer than allowed
  kRegistrationTimeout,  ///< a task was not ready in time
  kAllocationTimeout,    ///< the containers were not had in time
  kApplicationTimeout,   ///< the job ran longer than tony.application.timeout
  kDependencyTimeout,    ///< a type had not ended in time after a group of others
  kNeverFits,            ///< the request is larger than what there is
  kBackendFailed,        ///< the resource manager refused or failed
  kKilledByUser,         ///< Ctrl-C, `tony kill`
  kClientGone,           ///< the submitting client went away without a word
  kMasterStopped,        ///< the ApplicationMaster was told to end by a signal
};

/// Stable names for machines, e.g. "TASK_FAILED".
std::string ReasonName(Reason reason);
/// "SUCCEEDED", "FAILED", "KILLED"
std::string OutcomeName(Outcome outcome);
/// Inverses; nothing for an unknown name.
std::optional<Reason> ParseReason(const std::string& name);
std::optional<Outcome> ParseOutcome(const std::string& name);

struct Verdict {
  Outcome outcome = Outcome::kFailed;
  Reason reason = Reason::kBackendFailed;
  std::string sentence;          ///< complete, with the guilty task and what happened to it
  std::optional<TaskId> guilty;  ///< the task that caused it
  std::optional<TaskExit> exit;  ///< the guilty task's end; nothing: it has not ended

  bool operator==(const Verdict&) const = default;
};

/// Exit status of `tony-submit`: 0 succeeded, 1 the user's program failed, 3 infrastructure, 4
/// killed, 5 can never fit.
int ExitCode(const Verdict& verdict);

}  // namespace tony::core
