// Collects failures for a moment before it judges them, because a victim often reports before its
// cause.
#include "core/job/failure_judge.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/job/executors.h"
#include "core/job/gang_scheduler.h"
#include "core/job/job_ending.h"
#include "core/job/job_parts.h"
#include "core/job/job_record.h"
#include "core/job/ranks.h"
#include "core/judge/failure_kind.h"
#include "core/judge/python_traceback.h"
#include "core/record/duration_text.h"

namespace tony::core {
namespace {

std::string Restarts(int count) {
  return absl::StrCat(count, count == 1 ? " restart" : " restarts");
}

}  // namespace

void FailureJudge::JudgeEnd() {
  // A failure that is still to be judged may restart these tasks.
  if (run_.judge_at && run_.tasks.tracked(TaskState::kFailed) > 0) return;
  if (std::optional<Verdict> verdict = run_.policy.JudgeAll(run_.tasks))
    parts_.ending.Decide(std::move(*verdict));
}

void FailureJudge::OnTaskFailed(Task& task, const Verdict& what) {
  Verdict failure = what;
  failure.sentence = parts_.ranks.WithRank(task, std::move(failure.sentence));
  if (parts_.ranks.GoesOnWithout(task)) return parts_.ranks.Lose(task, failure);
  run_.Note(decision::TaskConcluded{task.id, *task.exit});
  parts_.record.ChangeTask(task, TaskState::kFailed, task.exit->Describe());
  if (task.gathering() || run_.policy.FailsAttempt(task)) return OnFailure(task, failure);
  // The gang must not wait for a task that has failed and is tolerated.
  run_.tasks.SetGang(task, 0);
  parts_.gangs.ReleaseGangs();
  if (run_.judge_at) return;
  if (std::optional<Verdict> verdict = run_.policy.JudgeAll(run_.tasks)) {
    if (verdict->outcome == Outcome::kFailed) {
      OnFailure(*run_.tasks.Find(*verdict->guilty), *verdict);
    } else {
      parts_.ending.Decide(std::move(*verdict));
    }
  }
}

void FailureJudge::OnFailure(const Task& task, const Verdict& failure) {
  // A victim's failure is often reported before its cause. Its judgement waits for root_cause, so
  // that the cause can still arrive.
  failures_.push_back({task.id, *task.exit, task.container ? task.container->host_id : ""});
  failure_verdicts_.push_back(failure);
  const bool may_be_victim =
      !task.gathering() && run_.tasks.size() > 1 && KindOf(*task.exit) == FailureKind::kVictim;
  if (!may_be_victim) return Judge();
  if (run_.judge_at) return;
  run_.judge_at = run_.now + run_.job.timeouts.root_cause;
  parts_.record.RecordWait(
      {absl::StrCat(task.id.ToString(), " failed as if another task had gone, which is looked for"),
       run_.tasks.Names([](const Task& other) { return other.awaited(); }),
       "it comes by itself (tony.am.root-cause-timeout-ms)"});
}

void FailureJudge::Judge() {
  run_.judge_at.reset();
  const size_t root = RootCauseOf(failures_);
  const Task& task = *run_.tasks.Find(failures_[root].task);
  Verdict failure = failure_verdicts_[root];
  failure.sentence += EndedBefore(task);
  RestartCause cause;
  cause.task = task.id;
  // A released port may be taken by another process, so the task may get a new port, which only a
  // new epoch tells the others.
  cause.scope = task.type->port_release ? RestartScope::kJob : task.type->restart_scope;
  cause.exit = failures_[root].exit;
  cause.container_lost = !task.container || task.killed();
  cause.port_taken = !task.stranger.empty();
  if (!task.gathering()) cause.running_since = run_.running_since;
  const bool first = restarts_.state() == RestartState{};
  RestartDecision decision = restarts_.Decide(cause, run_.now);
  if (const auto* restart = std::get_if<core::Restart>(&decision)) {
    return Restart(failure, *restart);
  }
  failure.sentence += parts_.gangs.NeverStarted(task.id.type);
  if (!first) absl::StrAppend(&failure.sentence, "; ", std::get<GiveUp>(decision).sentence);
  parts_.ending.Decide(std::move(failure));
}

std::string FailureJudge::EndedBefore(const Task& task) const {
  if (KindOf(*task.exit) != FailureKind::kVictim) return "";
  const Task* first = nullptr;
  size_t others = 0;
  for (const Task& other : run_.tasks.all()) {
    if (other.state != TaskState::kSucceeded || other.tracking() != Tracking::kTracked) continue;
    if (other.id.type != task.id.type || other.since > task.since) continue;
    if (first != nullptr) ++others;
    if (first == nullptr || other.since < first->since) first = &other;
  }
  if (first == nullptr) return "";
  const auto before =
      std::max(Duration(0), task.since - first->since) / std::chrono::milliseconds(1);
  return absl::StrCat("; ", first->id.ToString(), " had ended ", FormatDuration(before),
                      " before, with code 0",
                      others == 0 ? "" : absl::StrCat(", as had ", others, " more"));
}

void FailureJudge::Restart(const Verdict& failure, const core::Restart& restart) {
  decision::TasksRestarted restarted;
  restarted.epoch = run_.epoch;
  restarted.cause = failure.sentence;
  restarted.guilty = failure.guilty;
  restarted.budgets = restarts_.state();
  restarted.delay = restart.not_before - run_.now;
  bool widened = restart.scope == RestartScope::kJob;
  std::set<TaskId> failed;
  for (const TaskFailure& other : failures_) failed.insert(other.task);
  for (const Task& task : run_.tasks.all()) {
    const bool of_type =
        restart.scope == RestartScope::kType && task.id.type == failure.guilty->type;
    if (failed.count(task.id) == 0 && !of_type) continue;
    // A task whose scope is the job fails together with the guilty one: its restart widens this
    // one.
    const bool whole_job = failed.count(task.id) > 0 &&
                           task.type->restart_scope == RestartScope::kJob &&
                           run_.policy.FailsAttempt(task);
    // The narrower scope keeps the addresses, so it needs live containers and tasks whose gang had
    // started; anything else widens it.
    widened = widened || !task.container || task.killed() || task.gathering() || whole_job;
    restarted.tasks.push_back(task.id);
  }
  if (!widened) return RestartTasks(restarted);
  ++restarted.epoch;
  restarted.tasks.clear();
  for (const Task& task : run_.tasks.all()) {
    if (parts_.ranks.JoinsLater(task)) restarted.later.push_back(task.id);
  }
  OpenEpoch(restarted, restart.budget == RestartBudget::kInfrastructure,
            failure.exit ? LastException(failure.exit->tail) : "");
}

void FailureJudge::OpenEpoch(const decision::TasksRestarted& restarted, bool lost,
                             const std::string& error) {
  run_.epoch = restarted.epoch;
  run_.spec.reset();
  run_.plan.reset();
  parts_.ranks.OnEpochOpened();
  run_.running_since.reset();
  ForgetFailures();
  run_.Note(restarted);
  run_.Do(effect::Record{EpochOpened{
      run_.epoch, restarted.cause, restarted.guilty,
      std::max(0, run_.job.retry_count - restarted.budgets.user),
      std::max(0, run_.job.infrastructure_retry_count - restarted.budgets.infrastructure), lost,
      error}});
  parts_.record.Move(JobTrigger::kAttemptFailed, restarted.cause);
  const std::set<TaskId> later(restarted.later.begin(), restarted.later.end());
  std::vector<Task*> members;
  for (Task& task : run_.tasks.all()) {
    if (!parts_.gangs.Admitted(task.id.type) || parts_.gangs.Settled(task)) continue;
    if (later.count(task.id) > 0) {
      // The end of a container is no decision, so a replayed journal may still have one.
      if (task.container) parts_.executors.Unbind(task);
      run_.tasks.SetGang(task, 0);
      run_.tasks.SetListed(task, false);
      if (task.state != TaskState::kNew) parts_.record.ChangeTask(task, TaskState::kNew);
      continue;
    }
    members.push_back(&task);
    // An attempt counts only from its start; a task that was only prepared keeps its number.
    if (!task.gathering()) ++task.attempt;
    task.exit.reset();
    task.stranger.clear();
    task.waiting_since = run_.now;
    task.started_attempt = 0;
    run_.tasks.SetListed(task, false);
    run_.groups.OnTypeRestarted(task.id.type, run_.now);
    if (!task.container) {
      parts_.record.ChangeTask(task, TaskState::kNew);
      continue;
    }
    task.kept = true;
    parts_.record.ChangeTask(task, TaskState::kStarting);
    // An executor that has not attached yet learns the epoch when it does.
    if (task.attached()) run_.Do(effect::SendPrepare{task.container->id, run_.epoch, task.attempt});
  }
  parts_.gangs.FormGang(members, restarted.delay);
}

void FailureJudge::RestartTasks(const decision::TasksRestarted& restarted) {
  Task& only = *run_.tasks.Find(restarted.tasks.front());
  if (parts_.ranks.GoesOnWithout(only)) return parts_.ranks.RestartAlone(only, restarted);
  ForgetFailures();
  run_.Note(restarted);
  std::vector<std::string> names;
  for (const TaskId& id : restarted.tasks) names.push_back(id.ToString());
  const int left = std::max(0, run_.job.retry_count - restarted.budgets.user);
  run_.Do(effect::Record{JobNote{absl::StrCat(
      restarted.cause, ": ", absl::StrJoin(names, ", "), names.size() == 1 ? " starts" : " start",
      " again, the others go on (", Restarts(left), " left)")}});
  std::vector<Task*> members;
  for (const TaskId& id : restarted.tasks) {
    Task& task = *run_.tasks.Find(id);
    members.push_back(&task);
    task.exit.reset();
    task.stranger.clear();
    task.waiting_since = run_.now;
    ++task.attempt;
    run_.groups.OnTypeRestarted(id.type, run_.now);
    parts_.record.ChangeTask(task, TaskState::kStarting);
    if (!task.attached()) continue;
    run_.Do(effect::SendPrepare{task.container->id, run_.epoch, task.attempt, /*keep_ports=*/true});
  }
  parts_.gangs.FormGang(members, restarted.delay);
}

void FailureJudge::ForgetFailures() {
  failures_.clear();
  failure_verdicts_.clear();
  run_.judge_at.reset();
}

void FailureJudge::Reconsider(const Task& task) {
  // Only a failed job with earlier failures has a root cause to correct. The new failure becomes
  // the verdict when RootCauseOf picks it, the last of the list.
  const bool counts = run_.verdict->outcome == Outcome::kFailed && !failures_.empty();
  if (!counts || !task.exit || task.exit->ok()) return;
  failures_.push_back({task.id, *task.exit, task.container ? task.container->host_id : ""});
  if (RootCauseOf(failures_) + 1 < failures_.size()) return;
  run_.verdict = parts_.ranks.FailureOf(task);
  run_.verdict->sentence = parts_.ranks.WithRank(task, std::move(run_.verdict->sentence));
  run_.Note(decision::VerdictReached{*run_.verdict});
}

void FailureJudge::CheckJudgement() {
  if (run_.now < *run_.judge_at) return;
  // An executor whose stream is broken may be the root cause of the other failures.
  for (const Task& task : run_.tasks.all()) {
    if (task.awaited() && task.binding != Binding::kReclaimed) return;
  }
  Judge();
}

}  // namespace tony::core
