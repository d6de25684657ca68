// Recovery in JobMachine: replays the journal as if each decision were made again, then reconciles
// every executor that attaches with the replayed state.
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/job/job_machine.h"

namespace tony::core {

void JobMachine::Replay(const Decision& decision, TimePoint at) {
  now_ = at;
  if (!std::exchange(replayed_, true)) Begin();
  std::visit([this](const auto& kind) { Redo(kind); }, decision);
  // The earlier ApplicationMaster carried the effects out, or Resume() makes up for them.
  effects_.clear();
  decisions_.clear();
}

void JobMachine::Remember(const TaskMeasured& measured) {
  Task* task = tasks_.Find(measured.task);
  // The measurement is of use only while the same attempt may still run.
  if (task == nullptr || !task->container || task->over()) return;
  if (task->attempt == measured.attempt) task->measured = measured;
}

void JobMachine::Redo(const decision::ContainerBound& bound) {
  Task* task = tasks_.Find(bound.task);
  if (task == nullptr) return;
  if (task->container) tasks_.Unbind(*task);
  Bind(*task, bound.container);
}

// A journal has no registrations. The gang's release proves that all its tasks had registered, with
// the ports of the spec.
void JobMachine::Redo(const decision::GangReleased& released) {
  for (const Endpoint& endpoint : released.spec->endpoints) {
    Task* task = tasks_.Find(endpoint.task);
    if (task == nullptr) continue;
    task->port = endpoint.port;
    ChangeTask(*task, TaskState::kReady);
  }
  Open(released);
  OnProgress();
}

void JobMachine::Redo(const decision::TaskConcluded& concluded) {
  Task* task = tasks_.Find(concluded.task);
  if (task == nullptr) return;
  task->exit = concluded.exit;
  ChangeTask(*task, concluded.exit.ok() ? TaskState::kSucceeded : TaskState::kFailed);
  if (concluded.exit.ok()) {
    if (IsElastic(*task)) LetWaitingGo();
    OnProgress();
  } else if (!task->gathering() && !policy_.FailsAttempt(*task)) {
    tasks_.SetGang(*task, 0);
  }
}

void JobMachine::Redo(const decision::TasksRestarted& restarted) {
  restarts_.Restore(restarted.budgets);
  if (restarted.tasks.empty()) return OpenEpoch(restarted);
  // The job's description may have lost a task since; the other tasks are restarted all the same.
  decision::TasksRestarted known = restarted;
  std::erase_if(known.tasks, [this](const TaskId& id) { return tasks_.Find(id) == nullptr; });
  if (!known.tasks.empty()) RestartTasks(known);
}

void JobMachine::Redo(const decision::TrackingStopped& stopped) {
  if (job_.FindType(stopped.type) == nullptr) return;
  tasks_.StopTracking(stopped.type);
  OnProgress();
}

void JobMachine::Redo(const decision::VerdictReached& reached) {
  verdict_ = reached.verdict;
  Move(JobTrigger::kVerdict);
}

void JobMachine::Redo(const decision::ExecutorStarted& started) {
  Task* task = tasks_.FindByContainer(started.container_id);
  if (task != nullptr) task->container->executor = started.process;
}

void JobMachine::Resume(const input::Start& start) {
  Do(effect::Record{MasterRestarted{start.incarnation, start.log_url}});
  state_since_ = now_;
  checked_at_ = now_;
  effect::ReclaimContainers reclaim;
  missing_ = true;
  // The gang, registration and heartbeat deadlines start again: no executor could be heard while
  // there was no ApplicationMaster.
  for (auto& [number, gang] : tasks_.gangs()) gang.since = now_;
  for (Task& task : tasks_.all()) {
    if (task.container) {
      reclaim.containers.push_back(*task.container);
      task.kept = true;
      task.waiting_since = now_;
      task.last_heard = now_;
      task.reattach_by = now_ + job_.timeouts.reattach;
      task.awaited_back = true;
    }
  }
  awaited_back_ = static_cast<int>(reclaim.containers.size());
  if (awaited_back_ > 0) {
    Do(effect::Record{
        JobWaiting{absl::StrCat("the executors attach to the new ApplicationMaster"),
                   tasks_.Names([](const Task& task) { return task.container.has_value(); }),
                   "they look for it; the executor.log of each task says more"}});
    Do(std::move(reclaim));
  }
  if (verdict_) return EndIfAllGone();
  // These tasks had failed before the loss, but the journal has no restart or verdict for them.
  const int epoch = epoch_;
  // A judgement opens an epoch or ends the job, and either one makes the rest of the loop stale.
  for (const Task& task : tasks_.all()) {
    if (task.state != TaskState::kFailed || !policy_.FailsAttempt(task)) continue;
    OnFailure(task, SuccessPolicy::FailureOf(task));
    if (verdict_ || epoch_ != epoch) return;
  }
  // All tasks may have ended before the lost ApplicationMaster reached a verdict.
  JudgeEnd();
}

void JobMachine::NoLongerAwaited(Task& task) {
  task.reattach_by.reset();
  if (!std::exchange(task.awaited_back, false) || --awaited_back_ > 0 || verdict_) return;
  SayGoesOn("The executors are attached again");
}

void JobMachine::Rejoin(Task& task, const input::HeldTask& held) {
  task.attached = true;
  NoLongerAwaited(task);
  Do(effect::SendReattached{task.container->id});
  if (task.over()) return;
  using Phase = input::HeldTask::Phase;
  const bool started =
      held.phase == Phase::kRunning ||
      (held.phase == Phase::kEnded && held.exit.cause != TaskExit::Cause::kNotStarted);
  // The program was started, but the journal has no release of its gang, so the run must not count.
  const bool unknown_run = task.gang != 0 && task.state == TaskState::kStarting && started;
  // An executor behind in epoch or attempt missed a prepare; it is sent again.
  if (held.epoch != epoch_ || held.attempt != task.attempt || unknown_run) {
    Do(effect::SendPrepare{task.container->id, epoch_, task.attempt, task.listed});
    return;
  }
  if (held.phase == Phase::kPreparing) return;
  task.visualization_port = held.visualization_port;  // known to the executor only
  if (held.phase == Phase::kEnded) return End(task, held.exit);
  if (task.state == TaskState::kStarting) {
    return Register(task, held.port, held.visualization_port);
  }
  if (task.gang != 0) return;
  // The start may have been lost with the stream. Sending it again is safe: the executor says that
  // it has not started.
  if (held.phase == Phase::kRegistered) {
    if (!AwaitsPlan(task)) SendStart({task.container->id});
  } else if (task.state == TaskState::kReady) {
    task.pid = held.pid;
    ChangeTask(task, TaskState::kRunning);
  }
}

}  // namespace tony::core
