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
  kNew,          ///< nothing asked for yet
  kAllocating,   ///< waiting for the gang's containers; executors start in those that came
  kRegistering,  ///< all containers are there; waiting for every executor's ports
  kRunning,      ///< every task got the cluster spec and may run
  kRestarting,   ///< a new epoch: old process trees end, lost containers are replaced, executors
                 ///< register again
  kStopping,     ///< the verdict stands; executors end
  kEnded,        ///< nothing is left
};

/// What moves a job from state to state.
enum class JobTrigger { kStart, kGangGranted, kGangRegistered, kAttemptFailed, kVerdict, kAllGone };

/// The state after `trigger`, or nothing where the table has no such edge.
std::optional<JobState> NextState(JobState state, JobTrigger trigger);

/// A task within the current epoch.
enum class TaskState {
  kNew,        ///< no container yet
  kStarting,   ///< its container is there; the executor unpacks and reserves ports
  kReady,      ///< registered for this epoch, waiting at the barrier
  kRunning,    ///< the user's process runs
  kSucceeded,  ///< the user's process ended with code 0
  kFailed,     ///< it ended otherwise, or its container was lost
  kStopped,    ///< ended by tony: not waited for, or the job was over
};

/// Whether its run has ended.
constexpr bool IsOver(TaskState state) {
  return state == TaskState::kSucceeded || state == TaskState::kFailed ||
         state == TaskState::kStopped;
}

/// "ALLOCATING", …
std::string JobStateName(JobState state);
/// "RUNNING", …
std::string TaskStateName(TaskState state);
/// Inverse of TaskStateName / JobStateName; nothing for an unknown name.
std::optional<TaskState> ParseTaskState(const std::string& name);
std::optional<JobState> ParseJobState(const std::string& name);

}  // namespace tony::core
