#include "client/workflow/step_rules.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace tony::client {

absl::StatusOr<OnExisting> ParseOnExisting(const std::string& text) {
  if (text == "adopt") return OnExisting::kAdopt;
  if (text == "stop") return OnExisting::kStop;
  if (text == "fail") return OnExisting::kFail;
  return absl::InvalidArgumentError(
      absl::StrCat("--on-existing: '", text, "' is none of adopt, stop and fail"));
}

LastJob StateOfLastJob(const StoredJob& job) {
  if (job.ended()) {
    return job.job.view.verdict->outcome == core::Outcome::kSucceeded ? LastJob::kSucceeded
                                                                      : LastJob::kFailed;
  }
  if (!job.alive) return LastJob::kFailed;
  return job.job.view.state == core::JobState::kStopping ? LastJob::kStopping : LastJob::kActive;
}

StepAction ChooseStepAction(LastJob last, bool reported, OnExisting on_existing) {
  switch (last) {
    case LastJob::kNone:
    case LastJob::kFailed:
      return StepAction::kSubmit;
    case LastJob::kStopping:
      return StepAction::kAwaitFirst;
    case LastJob::kSucceeded:
      return reported ? StepAction::kSubmitAnew : StepAction::kReport;
    case LastJob::kActive:
      break;
  }
  switch (on_existing) {
    case OnExisting::kAdopt:
      return StepAction::kAdopt;
    case OnExisting::kStop:
      return StepAction::kStopFirst;
    case OnExisting::kFail:
      break;
  }
  return StepAction::kRefuse;
}

}  // namespace tony::client
