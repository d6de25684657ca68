// Replays the journal as if each decision were made again, then resumes: every executor that
// attaches is reconciled with the replayed state.
#include "core/job/job_machine.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/job/owned_parts.h"

namespace tony::core {

void JobMachine::Replay(const Decision& decision, TimePoint at) {
  run_.now = at;
  if (!std::exchange(replayed_, true)) Begin();
  std::visit([this](const auto& kind) { Redo(kind); }, decision);
  // The earlier ApplicationMaster carried the effects out, or Resume() makes up for them.
  std::erase_if(run_.effects, [](const JobEffect& effect) {
    return !std::holds_alternative<effect::ReportFault>(effect);
  });
  run_.decisions.clear();
}

void JobMachine::Remember(const TaskMeasured& measured) {
  Task* task = run_.tasks.Find(measured.task);
  // The measurement is of use only while the same attempt may still run.
  if (task == nullptr || !task->container || task->over()) return;
  if (task->attempt == measured.attempt) task->measured = measured;
}

void JobMachine::Redo(const decision::ContainerBound& bound) {
  Task* task = run_.tasks.Find(bound.task);
  if (task == nullptr) return;
  if (task->container) parts_.executors.Unbind(*task);
  parts_.steps.Bind(*task, bound.container);
}

// A journal has no registrations. The gang's release proves that all its tasks had registered, with
// the ports of the spec.
void JobMachine::Redo(const decision::GangReleased& released) {
  for (const Endpoint& endpoint : released.spec->endpoints) {
    Task* task = run_.tasks.Find(endpoint.task);
    if (task == nullptr) continue;
    task->port = endpoint.port;
    parts_.record.ChangeTask(*task, TaskState::kReady);
  }
  parts_.gangs.Open(released);
  parts_.gangs.OnProgress();
}

void JobMachine::Redo(const decision::PlanAccepted& accepted) {
  parts_.ranks.OnPlanReplayed(accepted);
}

void JobMachine::Redo(const decision::TaskConcluded& concluded) {
  Task* task = run_.tasks.Find(concluded.task);
  if (task == nullptr) return;
  task->exit = concluded.exit;
  parts_.record.ChangeTask(*task, concluded.exit.ok() ? TaskState::kSucceeded : TaskState::kFailed);
  if (concluded.exit.ok()) {
    parts_.ranks.OnSucceeded(*task);
    parts_.gangs.OnProgress();
  } else if (!task->gathering() && !run_.policy.FailsAttempt(*task)) {
    run_.tasks.SetGang(*task, 0);
  }
}

void JobMachine::Redo(const decision::TasksRestarted& restarted) {
  parts_.judge.RestoreBudgets(restarted.budgets);
  if (restarted.tasks.empty()) return parts_.judge.OpenEpoch(restarted);
  // The job's description may have lost a task since; the other tasks are restarted all the same.
  decision::TasksRestarted known = restarted;
  std::erase_if(known.tasks, [this](const TaskId& id) { return run_.tasks.Find(id) == nullptr; });
  if (!known.tasks.empty()) parts_.judge.RestartTasks(known);
}

void JobMachine::Redo(const decision::TrackingStopped& stopped) {
  if (run_.job.FindType(stopped.type) == nullptr) return;
  run_.tasks.StopTracking(stopped.type);
  parts_.gangs.OnProgress();
}

void JobMachine::Redo(const decision::VerdictReached& reached) {
  run_.verdict = reached.verdict;
  // A corrected verdict replaces the first one.
  if (run_.state != JobState::kStopping) parts_.record.Move(JobTrigger::kVerdict);
}

void JobMachine::Redo(const decision::ExecutorStarted& started) {
  Task* task = run_.tasks.FindByContainer(started.container_id);
  if (task != nullptr) task->container->executor = started.process;
}

void JobMachine::Resume(const input::Start& start) {
  run_.Do(effect::Record{MasterRestarted{start.incarnation, start.log_url}});
  run_.state_since = run_.now;
  parts_.deadlines.Start();
  effect::ReclaimContainers reclaim;
  run_.missing = true;
  // The gang, registration and heartbeat deadlines start again: no executor could be heard while
  // there was no ApplicationMaster.
  for (auto& [number, gang] : run_.tasks.gangs()) gang.since = run_.now;
  for (Task& task : run_.tasks.all()) {
    task.shows.reset();
    if (task.container) {
      reclaim.containers.push_back(*task.container);
      task.kept = true;
      task.waiting_since = run_.now;
      task.last_heard = run_.now;
      if (!task.killed()) parts_.executors.Reclaim(task);
    }
  }
  if (run_.tasks.count(Binding::kReclaimed) > 0) {
    run_.Do(
        effect::Record{JobWaiting{"the executors attach to the new ApplicationMaster",
                                  run_.tasks.Names([](const Task& task) { return task.awaited(); }),
                                  "they look for it; the executor.log of each task says more"}});
  }
  if (!reclaim.containers.empty()) run_.Do(std::move(reclaim));
  if (run_.verdict) return parts_.ending.EndIfAllGone();
  // These tasks had failed before the loss, but the journal has no restart or verdict for them.
  const int epoch = run_.epoch;
  // A judgement opens an epoch or ends the job, and either one makes the rest of the loop stale.
  for (const Task& task : run_.tasks.all()) {
    if (task.state != TaskState::kFailed || !run_.policy.FailsAttempt(task)) continue;
    parts_.judge.OnFailure(task, SuccessPolicy::FailureOf(task));
    if (run_.verdict || run_.epoch != epoch) return;
  }
  // All tasks may have ended before the lost ApplicationMaster reached a verdict.
  parts_.judge.JudgeEnd();
}

}  // namespace tony::core
