// The transition table as a list of edges, searched linearly, and the names of the states.
#include "core/tasks/job_state.h"

#include <array>

namespace tony::core {
namespace {

struct Edge {
  JobState from;
  JobTrigger trigger;
  JobState to;
};

using S = JobState;
using T = JobTrigger;
constexpr std::array kEdges = {
    Edge{S::kNew, T::kStart, S::kAllocating},
    Edge{S::kAllocating, T::kGangGranted, S::kRegistering},
    Edge{S::kRegistering, T::kGangRegistered, S::kRunning},
    Edge{S::kRestarting, T::kGangRegistered, S::kRunning},
    Edge{S::kAllocating, T::kAttemptFailed, S::kRestarting},
    Edge{S::kRegistering, T::kAttemptFailed, S::kRestarting},
    Edge{S::kRunning, T::kAttemptFailed, S::kRestarting},
    Edge{S::kRestarting, T::kAttemptFailed, S::kRestarting},
    Edge{S::kNew, T::kVerdict, S::kStopping},
    Edge{S::kAllocating, T::kVerdict, S::kStopping},
    Edge{S::kRegistering, T::kVerdict, S::kStopping},
    Edge{S::kRunning, T::kVerdict, S::kStopping},
    Edge{S::kRestarting, T::kVerdict, S::kStopping},
    Edge{S::kStopping, T::kAllGone, S::kEnded},
};

constexpr std::array kJobStates = {S::kNew,        S::kAllocating, S::kRegistering, S::kRunning,
                                   S::kRestarting, S::kStopping,   S::kEnded};
constexpr std::array kTaskStates = {TaskState::kNew,     TaskState::kStarting,  TaskState::kReady,
                                    TaskState::kRunning, TaskState::kSucceeded, TaskState::kFailed,
                                    TaskState::kStopped};

}  // namespace

std::optional<JobState> NextState(JobState state, JobTrigger trigger) {
  for (const Edge& edge : kEdges) {
    if (edge.from == state && edge.trigger == trigger) return edge.to;
  }
  return std::nullopt;
}

std::string JobStateName(JobState state) {
  switch (state) {
    case S::kNew:
      return "NEW";
    case S::kAllocating:
      return "ALLOCATING";
    case S::kRegistering:
      return "REGISTERING";
    case S::kRunning:
      return "RUNNING";
    case S::kRestarting:
      return "RESTARTING";
    case S::kStopping:
      return "STOPPING";
    case S::kEnded:
      return "ENDED";
  }
  return "UNKNOWN";
}

std::string JobTriggerName(JobTrigger trigger) {
  switch (trigger) {
    case T::kStart:
      return "start";
    case T::kGangGranted:
      return "gang granted";
    case T::kGangRegistered:
      return "gang registered";
    case T::kAttemptFailed:
      return "attempt failed";
    case T::kVerdict:
      return "verdict";
    case T::kAllGone:
      return "all gone";
  }
  return "unknown";
}

std::string TaskStateName(TaskState state) {
  switch (state) {
    case TaskState::kNew:
      return "NEW";
    case TaskState::kStarting:
      return "STARTING";
    case TaskState::kReady:
      return "READY";
    case TaskState::kRunning:
      return "RUNNING";
    case TaskState::kSucceeded:
      return "SUCCEEDED";
    case TaskState::kFailed:
      return "FAILED";
    case TaskState::kStopped:
      return "STOPPED";
  }
  return "UNKNOWN";
}

std::optional<TaskState> ParseTaskState(const std::string& name) {
  for (TaskState state : kTaskStates) {
    if (TaskStateName(state) == name) return state;
  }
  return std::nullopt;
}

std::optional<JobState> ParseJobState(const std::string& name) {
  for (JobState state : kJobStates) {
    if (JobStateName(state) == name) return state;
  }
  return std::nullopt;
}

}  // namespace tony::core
