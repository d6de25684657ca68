#include "client/workflow/step_rules.h"

#include <gtest/gtest.h>

#include "absl/status/status.h"

namespace tony::client {
namespace {

StoredJob JobWith(core::JobState state, bool alive) {
  StoredJob job;
  job.alive = alive;
  job.job.view.state = state;
  return job;
}

StoredJob EndedJob(core::Outcome outcome) {
  StoredJob job;
  core::Verdict verdict;
  verdict.outcome = outcome;
  job.job.view.verdict = verdict;
  return job;
}

TEST(StepRulesTest, TheLastJobIsWhatItsEventsAndItsProcessesSay) {
  EXPECT_EQ(StateOfLastJob(JobWith(core::JobState::kRunning, true)), LastJob::kActive);
  EXPECT_EQ(StateOfLastJob(JobWith(core::JobState::kStopping, true)), LastJob::kStopping);
  EXPECT_EQ(StateOfLastJob(JobWith(core::JobState::kRunning, false)), LastJob::kFailed);
  EXPECT_EQ(StateOfLastJob(EndedJob(core::Outcome::kSucceeded)), LastJob::kSucceeded);
  EXPECT_EQ(StateOfLastJob(EndedJob(core::Outcome::kFailed)), LastJob::kFailed);
  EXPECT_EQ(StateOfLastJob(EndedJob(core::Outcome::kKilled)), LastJob::kFailed);
}

TEST(StepRulesTest, EachCaseHasItsAction) {
  struct Case {
    LastJob last;
    bool reported;
    OnExisting on_existing;
    StepAction action;
  };
  const Case cases[] = {
      {LastJob::kNone, false, OnExisting::kAdopt, StepAction::kSubmit},
      {LastJob::kActive, false, OnExisting::kAdopt, StepAction::kAdopt},
      {LastJob::kActive, false, OnExisting::kStop, StepAction::kStopFirst},
      {LastJob::kActive, false, OnExisting::kFail, StepAction::kRefuse},
      {LastJob::kStopping, false, OnExisting::kAdopt, StepAction::kAwaitFirst},
      {LastJob::kStopping, false, OnExisting::kFail, StepAction::kAwaitFirst},
      {LastJob::kSucceeded, false, OnExisting::kAdopt, StepAction::kReport},
      {LastJob::kSucceeded, false, OnExisting::kFail, StepAction::kReport},
      {LastJob::kSucceeded, true, OnExisting::kAdopt, StepAction::kSubmitAnew},
      {LastJob::kFailed, false, OnExisting::kAdopt, StepAction::kSubmit},
      {LastJob::kFailed, true, OnExisting::kFail, StepAction::kSubmit},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(ChooseStepAction(one.last, one.reported, one.on_existing), one.action)
        << static_cast<int>(one.last) << one.reported << static_cast<int>(one.on_existing);
  }
}

TEST(StepRulesTest, TheOptionHasThreeValues) {
  EXPECT_EQ(ParseOnExisting("adopt").value(), OnExisting::kAdopt);
  EXPECT_EQ(ParseOnExisting("stop").value(), OnExisting::kStop);
  EXPECT_EQ(ParseOnExisting("fail").value(), OnExisting::kFail);
  EXPECT_TRUE(absl::IsInvalidArgument(ParseOnExisting("").status()));
}

}  // namespace
}  // namespace tony::client
