// Measurements come with heartbeats, so looking at each tick suffices; a look costs a pass over all
// tasks, so it is not done with each heartbeat.
#include "core/job/hang_rule.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/job/job_ending.h"
#include "core/job/job_parts.h"
#include "core/job/task_steps.h"

namespace tony::core {

void HangRule::Check() {
  if (looked_at_ && run_.now - *looked_at_ < kLook) return;
  looked_at_ = run_.now;
  for (const Task& task : run_.tasks.all()) {
    if (task.state != TaskState::kRunning) watch_.Forget(task.id);
  }
  const std::vector<Standstill> hanging = watch_.Hanging();
  if (!hanging.empty()) return Advance(hanging.front());
  // A restart is no progress of what hung.
  const Step step = std::exchange(step_, Step::kGoesOn);
  const bool restarted = step == Step::kActed && action_ != HangAction::kWarn;
  if (step != Step::kGoesOn && !restarted && epoch_ == run_.epoch) {
    run_.Do(effect::Record{JobNote{"The job makes progress again"}});
  }
}

void HangRule::Advance(const Standstill& worst) {
  const std::string text = StandstillText(worst);
  if (step_ == Step::kGoesOn) {
    run_.Do(effect::KeepStacks{absl::StrCat("The job seems to hang: ", text), false});
    step_ = Step::kKept;
  } else if (step_ == Step::kKept && run_.now - since_ >= kLookAgain) {
    run_.Do(effect::KeepStacks{absl::StrCat("The job still hangs: ", text), true});
    step_ = Step::kKeptAgain;
  } else if (step_ == Step::kKeptAgain && run_.now - since_ >= kKeeping) {
    step_ = Step::kActed;
    Act(worst);
  } else {
    return;
  }
  since_ = run_.now;
  epoch_ = run_.epoch;
}

// A restart is that of a task which has failed, with its budget and its scope; without a budget the
// job fails.
void HangRule::Act(const Standstill& worst) {
  const std::string text = absl::StrCat(StandstillText(worst), " (tony.task.hang-action)");
  if (action_ == HangAction::kRestart) {
    Task* const task = run_.tasks.Find(worst.task);
    if (task == nullptr) return;
    parts_.steps.End(*task, {TaskExit::Cause::kTimedOut, 0, 0, text, {}});
  } else if (action_ == HangAction::kFail) {
    Verdict verdict;
    verdict.outcome = Outcome::kFailed;
    verdict.reason = Reason::kTaskTimedOut;
    verdict.guilty = worst.task;
    verdict.sentence = text;
    parts_.ending.Decide(std::move(verdict));
  }
}

}  // namespace tony::core
