// Names are an interface for machines and never change; exit codes tell the program's failures from
// the infrastructure's.
#include "core/record/verdict.h"

namespace tony::core {

// A switch over all reasons, with one name for each: the compiler reports a reason that is left
// out.
std::string ReasonName(Reason reason) {
  switch (reason) {
    case Reason::kTasksSucceeded:
      return "TASKS_SUCCEEDED";
    case Reason::kSomeTasksFailed:
      return "SOME_TASKS_FAILED";
    case Reason::kTaskFailed:
      return "TASK_FAILED";
    case Reason::kOutOfMemory:
      return "OUT_OF_MEMORY";
    case Reason::kTaskNotStarted:
      return "TASK_NOT_STARTED";
    case Reason::kTaskTimedOut:
      return "TASK_TIMED_OUT";
    case Reason::kTaskLost:
      return "TASK_LOST";
    case Reason::kHeartbeatLost:
      return "HEARTBEAT_LOST";
    case Reason::kRegistrationTimeout:
      return "REGISTRATION_TIMEOUT";
    case Reason::kAllocationTimeout:
      return "ALLOCATION_TIMEOUT";
    case Reason::kApplicationTimeout:
      return "APPLICATION_TIMEOUT";
    case Reason::kDependencyTimeout:
      return "DEPENDENCY_TIMEOUT";
    case Reason::kNeverFits:
      return "NEVER_FITS";
    case Reason::kBackendFailed:
      return "BACKEND_FAILED";
    case Reason::kKilledByUser:
      return "KILLED_BY_USER";
    case Reason::kClientGone:
      return "CLIENT_GONE";
    case Reason::kMasterStopped:
      return "MASTER_STOPPED";
  }
  return "UNKNOWN";
}

std::string OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kSucceeded:
      return "SUCCEEDED";
    case Outcome::kFailed:
      return "FAILED";
    case Outcome::kKilled:
      return "KILLED";
  }
  return "UNKNOWN";
}

std::optional<Reason> ParseReason(const std::string& name) {
  for (int value = 0; value <= static_cast<int>(Reason::kMasterStopped); ++value) {
    if (ReasonName(static_cast<Reason>(value)) == name) return static_cast<Reason>(value);
  }
  return std::nullopt;
}

std::optional<Outcome> ParseOutcome(const std::string& name) {
  for (Outcome outcome : {Outcome::kSucceeded, Outcome::kFailed, Outcome::kKilled}) {
    if (OutcomeName(outcome) == name) return outcome;
  }
  return std::nullopt;
}

int ExitCode(const Verdict& verdict) {
  switch (verdict.outcome) {
    case Outcome::kSucceeded:
      return 0;
    case Outcome::kKilled:
      return 4;
    case Outcome::kFailed:
      break;
  }
  switch (verdict.reason) {
    case Reason::kTaskFailed:
    case Reason::kOutOfMemory:
    case Reason::kTaskNotStarted:
      return 1;
    case Reason::kNeverFits:
      return 5;
    default:
      return 3;
  }
}

}  // namespace tony::core
