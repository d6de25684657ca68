// The ending has two rounds: executors are told to shut down, and the stragglers are killed.
#include "core/job/job_ending.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/job/executors.h"
#include "core/job/job_parts.h"
#include "core/job/job_record.h"

namespace tony::core {
namespace {

/// Whether a program took too long, so that people will ask where it was.
bool IsTimeout(Reason reason) {
  return reason == Reason::kApplicationTimeout || reason == Reason::kDependencyTimeout;
}

}  // namespace

void JobEnding::Decide(Verdict verdict) {
  if (run_.verdict) return;
  run_.verdict = std::move(verdict);
  run_.judge_at.reset();
  run_.Note(decision::VerdictReached{*run_.verdict});
  run_.Do(effect::CancelRequests{});
  parts_.record.Move(JobTrigger::kVerdict, run_.verdict->sentence);
  // An executor that must attach again is neither told nor killed yet: it is told to shut down when
  // it attaches, and CheckStopping() kills it otherwise.
  for (Task& task : run_.tasks.all()) {
    if (!task.container) continue;
    if (task.attached()) {
      parts_.executors.Dismiss(
          task, run_.verdict->sentence,
          IsTimeout(run_.verdict->reason) && task.state == TaskState::kRunning);
    } else if (task.binding == Binding::kLaunched) {
      parts_.executors.Kill(task);
    }
  }
  EndIfAllGone();
}

void JobEnding::EndIfAllGone() {
  if (run_.tasks.bound() > 0 || run_.state == JobState::kEnded) return;
  parts_.record.Move(JobTrigger::kAllGone);
  run_.Do(effect::Record{JobEnded{*run_.verdict}});
  run_.Do(effect::Finish{*run_.verdict});
}

void JobEnding::CheckStopping() {
  const Timeouts& timeouts = run_.job.timeouts;
  if (run_.now - run_.state_since < timeouts.kill_grace + timeouts.shutdown) return;
  // There are two rounds: the stragglers are killed first, and after container_kill given up.
  if (killed_stragglers_at_ && run_.now - *killed_stragglers_at_ < timeouts.container_kill) return;
  const bool give_up = killed_stragglers_at_.has_value();
  killed_stragglers_at_ = run_.now;
  for (Task& task : run_.tasks.all()) {
    if (!task.container) continue;
    run_.Do(effect::Record{JobNote{absl::StrCat(
        "Container ", task.container->id, " of ", task.id.ToString(),
        give_up ? " was killed, but nobody says that it is gone; the job ends without it"
                : " did not end in time and is killed")}});
    if (give_up) {
      if (!task.over()) parts_.record.ChangeTask(task, TaskState::kStopped);
      parts_.executors.Unbind(task);
    } else {
      parts_.executors.Kill(task);
    }
  }
  EndIfAllGone();
}

}  // namespace tony::core
