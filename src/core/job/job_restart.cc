// Failures in JobMachine: collects them, finds the guilty task, and restarts tasks or opens an
// epoch.
#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/job/job_machine.h"
#include "core/judge/failure_kind.h"

namespace tony::core {
namespace {

std::string Restarts(int count) {
  return absl::StrCat(count, count == 1 ? " restart" : " restarts");
}

}  // namespace

void JobMachine::OnTaskFailed(Task& task, const Verdict& what) {
  Verdict failure = what;
  failure.sentence = WithRank(task, std::move(failure.sentence));
  if (GoesOnWithout(task)) return LoseElastic(task, failure);
  Note(decision::TaskConcluded{task.id, *task.exit});
  ChangeTask(task, TaskState::kFailed, task.exit->Describe());
  if (task.gathering() || policy_.FailsAttempt(task)) return OnFailure(task, failure);
  // The gang must not wait for a task that has failed and is tolerated.
  tasks_.SetGang(task, 0);
  ReleaseGangs();
  if (judge_at_) return;
  if (std::optional<Verdict> verdict = policy_.JudgeAll(tasks_)) {
    if (verdict->outcome == Outcome::kFailed) {
      OnFailure(*tasks_.Find(*verdict->guilty), *verdict);
    } else {
      Decide(std::move(*verdict));
    }
  }
}

void JobMachine::OnFailure(const Task& task, const Verdict& failure) {
  // A victim's failure is often reported before its cause. Its judgement waits for root_cause, so
  // that the cause can still arrive.
  failures_.push_back({task.id, *task.exit, task.container ? task.container->host_id : ""});
  failure_verdicts_.push_back(failure);
  const bool may_be_victim =
      !task.gathering() && tasks_.size() > 1 && KindOf(*task.exit) == FailureKind::kVictim;
  if (!may_be_victim) return Judge();
  if (judge_at_) return;
  judge_at_ = now_ + job_.timeouts.root_cause;
  Say({absl::StrCat(task.id.ToString(), " failed as if another task had gone, which is looked for"),
       tasks_.Names([](const Task& other) { return other.reattach_by.has_value(); }),
       "it comes by itself (tony.am.root-cause-timeout-ms)"});
}

void JobMachine::Judge() {
  judge_at_.reset();
  const size_t root = RootCauseOf(failures_);
  const Task& task = *tasks_.Find(failures_[root].task);
  Verdict failure = failure_verdicts_[root];
  RestartCause cause;
  cause.task = task.id;
  // A released port may be taken by another process, so the task may get a new port, which only a
  // new epoch tells the others.
  cause.scope = task.type->port_release ? RestartScope::kJob : task.type->restart_scope;
  cause.exit = failures_[root].exit;
  cause.container_lost = !task.container || task.killed;
  cause.port_taken = !task.stranger.empty();
  if (!task.gathering()) cause.running_since = running_since_;
  const bool first = restarts_.state() == RestartState{};
  RestartDecision decision = restarts_.Decide(cause, now_);
  if (const auto* restart = std::get_if<core::Restart>(&decision)) {
    return Restart(failure, *restart);
  }
  failure.sentence += NeverStarted(task.id.type);
  if (!first) absl::StrAppend(&failure.sentence, "; ", std::get<GiveUp>(decision).sentence);
  Decide(std::move(failure));
}

void JobMachine::Restart(const Verdict& failure, const core::Restart& restart) {
  decision::TasksRestarted restarted;
  restarted.epoch = epoch_;
  restarted.cause = failure.sentence;
  restarted.guilty = failure.guilty;
  restarted.budgets = restarts_.state();
  restarted.delay = restart.not_before - now_;
  bool widened = restart.scope == RestartScope::kJob;
  std::set<TaskId> failed;
  for (const TaskFailure& other : failures_) failed.insert(other.task);
  for (const Task& task : tasks_.all()) {
    const bool of_type =
        restart.scope == RestartScope::kType && task.id.type == failure.guilty->type;
    if (failed.count(task.id) == 0 && !of_type) continue;
    // A task whose scope is the job fails together with the guilty one: its restart widens this
    // one.
    const bool whole_job = failed.count(task.id) > 0 &&
                           task.type->restart_scope == RestartScope::kJob &&
                           policy_.FailsAttempt(task);
    // The narrower scope keeps the addresses, so it needs live containers and tasks whose gang had
    // started; anything else widens it.
    widened = widened || !task.container || task.killed || task.gathering() || whole_job;
    restarted.tasks.push_back(task.id);
  }
  if (!widened) return RestartTasks(restarted);
  ++restarted.epoch;
  restarted.tasks.clear();
  OpenEpoch(restarted);
}

void JobMachine::OpenEpoch(const decision::TasksRestarted& restarted) {
  epoch_ = restarted.epoch;
  spec_.reset();
  plan_.reset();
  ForgetTold();
  finished_ = false;
  last_loss_.clear();
  rendezvous_wait_ = {};
  said_planning_ = false;
  running_since_.reset();
  ForgetFailures();
  Note(restarted);
  Do(effect::Record{EpochOpened{
      epoch_, restarted.cause, restarted.guilty,
      std::max(0, job_.retry_count - restarted.budgets.user),
      std::max(0, job_.infrastructure_retry_count - restarted.budgets.infrastructure)}});
  Move(JobTrigger::kAttemptFailed, restarted.cause);
  std::vector<Task*> members;
  for (Task& task : tasks_.all()) {
    if (!admitted_[stages_.StageOf(task.id.type)] || Settled(task)) continue;
    if (JoinsLater(task)) {
      tasks_.SetGang(task, 0);
      tasks_.SetListed(task, false);
      if (task.state != TaskState::kNew) ChangeTask(task, TaskState::kNew);
      continue;
    }
    members.push_back(&task);
    // An attempt counts only from its start; a task that was only prepared keeps its number.
    if (!task.gathering()) ++task.attempt;
    task.exit.reset();
    task.stranger.clear();
    task.waiting_since = now_;
    task.told_to_start = 0;
    tasks_.SetListed(task, false);
    groups_.OnTypeRestarted(task.id.type, now_);
    if (!task.container) {
      ChangeTask(task, TaskState::kNew);
      continue;
    }
    task.kept = true;
    ChangeTask(task, TaskState::kStarting);
    // An executor that has not attached yet learns the epoch when it does.
    if (task.attached) Do(effect::SendPrepare{task.container->id, epoch_, task.attempt});
  }
  FormGang(members, restarted.delay);
}

void JobMachine::RestartTasks(const decision::TasksRestarted& restarted) {
  Task& only = *tasks_.Find(restarted.tasks.front());
  if (GoesOnWithout(only)) return RestartElastic(only, restarted);
  ForgetFailures();
  Note(restarted);
  std::vector<std::string> names;
  for (const TaskId& id : restarted.tasks) names.push_back(id.ToString());
  const int left = std::max(0, job_.retry_count - restarted.budgets.user);
  Do(effect::Record{JobNote{absl::StrCat(restarted.cause, ": ", absl::StrJoin(names, ", "),
                                         names.size() == 1 ? " starts" : " start",
                                         " again, the others go on (", Restarts(left), " left)")}});
  std::vector<Task*> members;
  for (const TaskId& id : restarted.tasks) {
    Task& task = *tasks_.Find(id);
    members.push_back(&task);
    task.exit.reset();
    task.stranger.clear();
    task.waiting_since = now_;
    ++task.attempt;
    groups_.OnTypeRestarted(id.type, now_);
    ChangeTask(task, TaskState::kStarting);
    if (!task.attached) continue;
    Do(effect::SendPrepare{task.container->id, epoch_, task.attempt, /*keep_ports=*/true});
  }
  FormGang(members, restarted.delay);
}

void JobMachine::ForgetFailures() {
  failures_.clear();
  failure_verdicts_.clear();
  judge_at_.reset();
}

void JobMachine::Reconsider(const Task& task) {
  // Only a failed job with earlier failures has a root cause to correct. The new failure becomes
  // the verdict when RootCauseOf picks it, the last of the list.
  const bool counts = verdict_->outcome == Outcome::kFailed && !failures_.empty();
  if (!counts || !task.exit || task.exit->ok()) return;
  failures_.push_back({task.id, *task.exit, task.container ? task.container->host_id : ""});
  if (RootCauseOf(failures_) + 1 < failures_.size()) return;
  verdict_ = FailureOf(task);
  verdict_->sentence = WithRank(task, std::move(verdict_->sentence));
  Note(decision::VerdictReached{*verdict_});
}

}  // namespace tony::core
