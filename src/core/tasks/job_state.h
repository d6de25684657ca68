// The states of a job and of a task, and the one table of a job's legal transitions.
//
//             start             gang granted          gang registered
//   NEW ───────────▶ ALLOCATING ──────────▶ REGISTERING ──────────▶ RUNNING
//    │                   │                   │      ▲ gang registered │ ▲
//    │                   │                   │      │                 │ │ gang registered
//    │                   ├───────────────────┴──────┼── attempt ──────┤ │
//    │                   │                          │   failed        ▼ │
//    │                   │                          │             RESTARTING ◀─┐ attempt failed
//    │                   │                          │                 │ └──────┘
//    └───────────────────┴──────── verdict ─────────┴─────────────────┘
//                                      │
//                                      ▼          all gone
//                                  STOPPING ──────────────▶ ENDED
#pragma once

#include <optional>
#include <string>

namespace tony::core {

enum class JobState {
  kNew,          ///< no container requested yet
  kAllocating,   ///< waiting for the gang's containers; executors start in those already granted
  kRegistering,  ///< all containers are granted; waiting for every executor's ports
  kRunning,      ///< every task got the cluster spec and may run
  kRestarting,   ///< a new epoch: old process trees end, lost containers are replaced, executors
                 ///< register again
  kStopping,     ///< the verdict stands; executors end
  kEnded,        ///< no container is left
};

/// The events that move a job from state to state.
enum class JobTrigger { kStart, kGangGranted, kGangRegistered, kAttemptFailed, kVerdict, kAllGone };

/// The state after `trigger`; nullopt when the table has no such edge.
std::optional<JobState> NextState(JobState state, JobTrigger trigger);

/// The state of a task within the current epoch.
enum class TaskState {
  kNew,        ///< no container yet
  kStarting,   ///< has a container; the executor unpacks and reserves ports
  kReady,      ///< registered for this epoch, waiting at the barrier
  kRunning,    ///< the user's process runs
  kSucceeded,  ///< the user's process ended with code 0
  kFailed,     ///< the process ended otherwise, or the container was lost
  kStopped,    ///< ended by tony: no longer waited for, or the job was over
};

/// True when the task's run has ended.
constexpr bool IsOver(TaskState state) {
  return state == TaskState::kSucceeded || state == TaskState::kFailed ||
         state == TaskState::kStopped;
}

/// "ALLOCATING", …
std::string JobStateName(JobState state);
/// "gang granted", …
std::string JobTriggerName(JobTrigger trigger);
/// "RUNNING", …
std::string TaskStateName(TaskState state);
/// Inverses of TaskStateName and JobStateName; nullopt for an unknown name.
std::optional<TaskState> ParseTaskState(const std::string& name);
std::optional<JobState> ParseJobState(const std::string& name);

}  // namespace tony::core
