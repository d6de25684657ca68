// How JobMachine goes on after a broken stream, and after the loss of its ApplicationMaster.
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/job/job_machine.h"

namespace tony::core {

void JobMachine::Replay(const Decision& decision, TimePoint at) {
  now_ = at;
  if (!std::exchange(replayed_, true)) {
    started_at_ = at;
    Move(JobTrigger::kStart);
  }
  std::visit([this](const auto& kind) { Redo(kind); }, decision);
  // They were carried out, or Resume() makes up for them.
  effects_.clear();
  decisions_.clear();
}

void JobMachine::Redo(const decision::ContainerBound& bound) {
  Task* task = tasks_.Find(bound.task);
  if (task == nullptr) return;
  if (task->container) tasks_.Unbind(*task);
  Bind(*task, bound.container);
}

void JobMachine::Redo(const decision::GangReleased& released) {
  spec_ = released.spec;
  running_since_ = now_;
  for (const Endpoint& endpoint : spec_->endpoints) {
    Task* task = tasks_.Find(endpoint.task);
    if (task == nullptr) continue;
    task->port = endpoint.port;
    ChangeTask(*task, TaskState::kReady);
  }
  Move(JobTrigger::kGangRegistered);
}

void JobMachine::Redo(const decision::TaskConcluded& concluded) {
  Task* task = tasks_.Find(concluded.task);
  if (task == nullptr) return;
  task->exit = concluded.exit;
  ChangeTask(*task, concluded.exit.ok() ? TaskState::kSucceeded : TaskState::kFailed);
}

void JobMachine::Redo(const decision::TasksRestarted& restarted) {
  restarts_.Restore(restarted.budgets);
  if (restarted.tasks.empty()) {
    OpenEpoch(restarted);
  } else {
    RestartTasks(restarted);
  }
}

void JobMachine::Redo(const decision::VerdictReached& reached) {
  verdict_ = reached.verdict;
  Move(JobTrigger::kVerdict);
}

void JobMachine::Resume(int incarnation) {
  Do(effect::Record{MasterRestarted{incarnation}});
  state_since_ = now_;
  checked_at_ = now_;
  effect::ReclaimContainers reclaim;
  effect::RequestContainers request;
  for (Task& task : tasks_.all()) {
    if (task.container) {
      reclaim.containers.push_back(*task.container);
      task.kept = true;
      task.waiting_since = now_;
      task.last_heard = now_;
      task.reattach_by = now_ + job_.timeouts.reattach;
      task.awaited_back = true;
    } else if (!task.over() && !verdict_) {
      AddTo(request, *task.type);
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
  if (!request.requests.empty()) Do(std::move(request));
  if (verdict_) return EndIfAllGone();
  if (Gathering()) return;
  // Failures that were not judged yet.
  for (const Task& task : tasks_.all()) {
    if (task.state != TaskState::kFailed || !policy_.FailsAttempt(task)) continue;
    OnFailure(task, SuccessPolicy::FailureOf(task));
    if (verdict_ || Gathering()) return;
  }
}

void JobMachine::NoLongerAwaited(Task& task) {
  task.reattach_by.reset();
  if (!std::exchange(task.awaited_back, false) || --awaited_back_ > 0 || verdict_) return;
  Do(effect::Record{JobStateChanged{state_, epoch_, "The executors are attached again"}});
}

void JobMachine::Rejoin(Task& task, const input::HeldTask& held) {
  task.attached = true;
  NoLongerAwaited(task);
  Do(effect::SendReattached{task.container->id});
  if (task.over()) return;
  using Phase = input::HeldTask::Phase;
  const bool started = held.phase == Phase::kRunning || held.phase == Phase::kEnded;
  const bool unknown_run =
      Gathering() && held.phase == Phase::kRunning && task.state == TaskState::kStarting;
  if (held.epoch != epoch_ || held.attempt != task.attempt || unknown_run) {
    Do(effect::SendPrepare{task.container->id, epoch_, task.attempt, task.restart != 0});
    return;
  }
  if (started && task.restart != 0) {
    // It was told to start after all.
    task.restart = 0;
    task.port = held.port;
    if (task.state == TaskState::kStarting) ChangeTask(task, TaskState::kReady);
  }
  if (held.phase == Phase::kPreparing) return;
  if (held.phase == Phase::kEnded) return End(task, held.exit);
  if (task.state == TaskState::kStarting) {
    return Register(task, held.port, held.visualization_port);
  }
  if (Gathering()) return;
  if (held.phase == Phase::kRegistered) {
    SendStart({task.container->id});
  } else if (task.state == TaskState::kReady) {
    task.pid = held.pid;
    ChangeTask(task, TaskState::kRunning);
  }
}

}  // namespace tony::core
