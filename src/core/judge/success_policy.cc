// The policy reads the counts of TaskTable only, so that judging costs the same for ten thousand
// tasks.
#include "core/judge/success_policy.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/model/master_task.h"
#include "core/rendezvous/worker_hosts.h"
#include "core/runtime/runtime.h"

namespace tony::core {
namespace {

Reason ReasonOf(const TaskExit& exit) {
  switch (exit.cause) {
    case TaskExit::Cause::kExited:
    case TaskExit::Cause::kSignaled:
    case TaskExit::Cause::kStopped:
      return Reason::kTaskFailed;
    case TaskExit::Cause::kNotStarted:
      return Reason::kTaskNotStarted;
    case TaskExit::Cause::kTimedOut:
      return Reason::kTaskTimedOut;
    case TaskExit::Cause::kOutOfMemory:
      return Reason::kOutOfMemory;
    case TaskExit::Cause::kLost:
      return Reason::kTaskLost;
  }
  return Reason::kTaskFailed;
}

/// Whether the task is one of the failed ones of which the first is named.
bool Counts(const Task& task) {
  return task.tracking() == Tracking::kTracked && task.state == TaskState::kFailed;
}

std::string SuccessSentence(int failed, int tracked) {
  if (failed > 0) {
    return absl::StrCat(failed, " of ", tracked, " tracked tasks failed, which ",
                        "tony.application.fail-on-worker-failure-enabled=false tolerates");
  }
  if (tracked == 0) return "There is no task left to wait for";
  if (tracked == 1) return "The tracked task succeeded";
  return absl::StrCat("All ", tracked, " tracked tasks succeeded");
}

}  // namespace

SuccessPolicy::SuccessPolicy(const JobDescription& job)
    : has_chief_(job.FindType("chief") != nullptr),
      fail_on_worker_failure_(job.fail_on_worker_failure),
      preprocesses_(IsPreprocessing(job, kMasterTaskType)) {
  for (const TaskType& type : job.types) {
    needed_.insert(type.depends_on.begin(), type.depends_on.end());
    if (job.framework == Framework::kHorovod && IsRanked(type.name)) needed_.insert(type.name);
  }
}

bool SuccessPolicy::FailsAttempt(const Task& task) const {
  switch (task.tracking()) {
    case Tracking::kSidecar:
      return false;
    case Tracking::kUntracked:
      return true;
    case Tracking::kTracked:
      break;
  }
  return fail_on_worker_failure_ || task.type->stop_on_failure || needed_.count(task.id.type) > 0 ||
         IsChief(task.id, has_chief_);
}

std::optional<Verdict> SuccessPolicy::JudgeAll(const TaskTable& tasks) const {
  const int failed = tasks.tracked(TaskState::kFailed);
  // A task that was stopped before the verdict, since it had nothing left to do, does not count.
  int tracked = tasks.tracked() - tasks.tracked(TaskState::kStopped);
  if (failed + tasks.tracked(TaskState::kSucceeded) < tracked) return std::nullopt;
  if (preprocesses_) tracked -= tasks.of(kMasterTaskType).succeeded;
  if (failed > 0 && failed == tracked) {
    const auto first = std::min_element(
        tasks.all().begin(), tasks.all().end(), [](const Task& left, const Task& right) {
          const bool left_counts = Counts(left);
          return left_counts != Counts(right) ? left_counts : left.since < right.since;
        });
    Verdict verdict = FailureOf(*first);
    verdict.sentence =
        absl::StrCat("All ", tracked, " tracked tasks failed; first: ", verdict.sentence);
    return verdict;
  }
  Verdict verdict;
  verdict.outcome = Outcome::kSucceeded;
  verdict.reason = failed > 0 ? Reason::kSomeTasksFailed : Reason::kTasksSucceeded;
  verdict.sentence = SuccessSentence(failed, tracked);
  return verdict;
}

Verdict SuccessPolicy::FailureOf(const Task& task) {
  Verdict verdict;
  verdict.outcome = Outcome::kFailed;
  verdict.guilty = task.id;
  verdict.exit = task.exit;
  verdict.reason = ReasonOf(*task.exit);
  verdict.sentence = absl::StrCat(task.id.ToString(), " ", task.exit->Describe());
  if (!task.stranger.empty()) {
    absl::StrAppend(&verdict.sentence, "; its reserved port was taken by ", task.stranger);
  }
  return verdict;
}

}  // namespace tony::core
