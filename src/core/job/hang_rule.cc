// Measurements come with heartbeats, so looking at each tick suffices; a look costs a pass over all
// tasks, so it is not done with each heartbeat.
#include "core/job/hang_rule.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/job/executors.h"
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
  if (!hanging.empty()) return Advance(hanging);
  // A restart is no progress of what hung.
  const Step step = std::exchange(step_, Step::kGoesOn);
  const bool restarted = step == Step::kActed && action_ != HangAction::kWarn;
  if (step != Step::kGoesOn && !restarted && epoch_ == run_.epoch) {
    run_.Do(effect::Record{JobNote{"The job makes progress again"}});
  }
}

void HangRule::On(const input::StacksKept& kept) {
  suspect_ = kept.suspect;
  moved_ = {kept.moved.begin(), kept.moved.end()};
}

void HangRule::Advance(const std::vector<Standstill>& hanging) {
  const std::string text = StandstillText(hanging.front());
  if (step_ == Step::kGoesOn) {
    run_.Do(effect::KeepStacks{absl::StrCat("The job seems to hang: ", text), false});
    step_ = Step::kKept;
    pause_ = kLookAgain;
  } else if (step_ == Step::kKept && run_.now - since_ >= pause_) {
    run_.Do(effect::KeepStacks{absl::StrCat("The job still hangs: ", text), true});
    step_ = Step::kKeptAgain;
    // What is not answered in time counts as not known.
    suspect_.reset();
    moved_.clear();
  } else if (step_ == Step::kKeptAgain && run_.now - since_ >= kKeeping) {
    if (action_ != HangAction::kWarn && SomebodyWorks(hanging)) {
      step_ = Step::kKept;
      pause_ *= 2;
    } else {
      step_ = Step::kActed;
      Act(hanging);
    }
  } else {
    return;
  }
  since_ = run_.now;
  epoch_ = run_.epoch;
}

bool HangRule::SomebodyWorks(const std::vector<Standstill>& hanging) const {
  return std::any_of(moved_.begin(), moved_.end(), [&](const TaskId& moved) {
    const bool still = std::any_of(hanging.begin(), hanging.end(),
                                   [&](const Standstill& each) { return each.task == moved; });
    return !still && watch_.Judges(moved);
  });
}

// A restart is that of a task which has failed, with its budget and its scope; without a budget the
// job fails.
void HangRule::Act(const std::vector<Standstill>& hanging) {
  if (action_ == HangAction::kWarn) return;
  Task* task = suspect_ ? run_.tasks.Find(*suspect_) : nullptr;
  if (task == nullptr || task->state != TaskState::kRunning) {
    task = run_.tasks.Find(hanging.front().task);
  }
  if (task == nullptr) return;
  const auto own = std::find_if(hanging.begin(), hanging.end(),
                                [&](const Standstill& each) { return each.task == task->id; });
  std::string text = StandstillText(own != hanging.end() ? *own : hanging.front());
  if (own == hanging.end()) {
    absl::StrAppend(&text, "; by its stack it waits for ", task->id.ToString());
  }
  absl::StrAppend(&text, " (tony.task.hang-action)");
  if (action_ == HangAction::kRestart) {
    parts_.steps.End(*task, {TaskExit::Cause::kTimedOut, 0, 0, text, {}});
    // A failure that the job tolerates ends nothing else, and the program still runs.
    if (!run_.verdict && task->over() && task->attached()) parts_.executors.Dismiss(*task, text);
    return;
  }
  Verdict verdict;
  verdict.outcome = Outcome::kFailed;
  verdict.reason = Reason::kTaskTimedOut;
  verdict.guilty = task->id;
  verdict.sentence = std::move(text);
  parts_.ending.Decide(std::move(verdict));
}

}  // namespace tony::core
