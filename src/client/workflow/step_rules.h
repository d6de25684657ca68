// What an attempt of a step does about the job of an earlier attempt (docs/design/steps.md).
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "client/jobs/job_store.h"

namespace tony::client {

/// What a step does about a job of its own that runs.
enum class OnExisting { kAdopt, kStop, kFail };

/// InvalidArgument – none of adopt, stop and fail.
absl::StatusOr<OnExisting> ParseOnExisting(const std::string& text);

/// What has become of the last job of a step.
enum class LastJob {
  kNone,      ///< there was none, or nothing is left of it
  kActive,    ///< runs, or waits for room
  kStopping,  ///< was told to stop
  kSucceeded,
  kFailed,  ///< failed, was killed, or was lost
};

LastJob StateOfLastJob(const StoredJob& job);

enum class StepAction {
  kSubmit,      ///< a new job, which finds the checkpoints of the one before
  kSubmitAnew,  ///< a new job, without checkpoints
  kAdopt,       ///< follow the job that runs
  kReport,      ///< tell the verdict of the job that has succeeded
  kStopFirst,   ///< stop the job that runs, and look again
  kAwaitFirst,  ///< wait for the end of the job that is stopping, and look again
  kRefuse,      ///< the step fails
};

/// `reported`: an attempt has ended with the last job's verdict.
StepAction ChooseStepAction(LastJob last, bool reported, OnExisting on_existing);

}  // namespace tony::client
