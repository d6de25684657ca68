// Every end of a run, seen or presumed, goes through TaskSteps::End or ContainerGone, and from
// there to FailureJudge or to the next stage.
#include "core/job/task_steps.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/job/executors.h"
#include "core/job/failure_judge.h"
#include "core/job/gang_scheduler.h"
#include "core/job/job_ending.h"
#include "core/job/job_parts.h"
#include "core/job/job_record.h"
#include "core/job/ranks.h"
#include "core/model/lease.h"

namespace tony::core {
namespace {

/// Whether the program of the run that the executor reports has been started.
bool WasStarted(const input::HeldTask& held) {
  using Phase = input::HeldTask::Phase;
  return held.phase == Phase::kRunning ||
         (held.phase == Phase::kEnded && held.exit.cause != TaskExit::Cause::kNotStarted);
}

}  // namespace

void TaskSteps::Bind(Task& task, const Container& container) {
  parts_.executors.Bind(task, container);
  task.waiting_since = run_.now;
  task.last_heard = run_.now;
  task.attempt = std::max(1, task.attempt);
  parts_.record.ChangeTask(task, TaskState::kStarting);
  run_.Do(effect::LaunchExecutor{container.id, task.id});
  if (task.gang == 0) return;
  Gang& gang = run_.tasks.gangs().at(task.gang);
  if (gang.bound < gang.size) return;
  // The gang is complete only now, so its wait for registrations starts here.
  gang.since = run_.now;
  gang.missing_recorded = false;
  if (run_.state == JobState::kAllocating) parts_.record.Move(JobTrigger::kGangGranted);
}

void TaskSteps::Register(Task& task, int port, int visualization_port) {
  task.port = port;
  task.visualization_port = visualization_port;
  parts_.record.ChangeTask(task, TaskState::kReady);
  parts_.gangs.ReleaseGangs();
}

void TaskSteps::End(Task& task, const TaskExit& exit) {
  const bool live = task.state == TaskState::kStarting || task.state == TaskState::kReady ||
                    task.state == TaskState::kRunning;
  if (!live) return;
  // Before the gang is complete no process of this epoch runs, so only a failure to prepare or a
  // loss can be true; any other end is a stale message.
  if (task.gathering() && exit.cause != TaskExit::Cause::kNotStarted &&
      exit.cause != TaskExit::Cause::kLost) {
    return;
  }
  task.exit = parts_.ranks.ExitOf(task, exit);
  if (run_.verdict) {
    parts_.record.ChangeTask(task, exit.ok() ? TaskState::kSucceeded : TaskState::kStopped);
    parts_.judge.Reconsider(task);
    return;
  }
  if (exit.ok() && parts_.ranks.FailIfNeeded(task)) return;
  if (!exit.ok()) return parts_.judge.OnTaskFailed(task, parts_.ranks.FailureOf(task));
  run_.Note(decision::TaskConcluded{task.id, exit});
  parts_.record.ChangeTask(task, TaskState::kSucceeded);
  parts_.ranks.OnSucceeded(task);
  parts_.judge.JudgeEnd();
  if (!run_.verdict) parts_.gangs.OnProgress();
}

void TaskSteps::ContainerGone(const input::ContainerEnded& ended) {
  Task* task = run_.tasks.FindByContainer(ended.container_id);
  if (task == nullptr) return;
  const std::string what = absl::StrCat("container ", ended.container_id, " on ",
                                        task->container->host, ": ", ended.end.sentence);
  if (!ended.end.seen && !run_.verdict && MayRunOn(*task)) {
    // The failure counts now, but the lease may still be valid, so the task gets no other container
    // yet. JobDeadlines::CheckKilled gives this one up.
    if (!task->killed()) OnSilent(*task, Reason::kTaskLost, what);
    return;
  }
  if (run_.verdict) return GoneAfterVerdict(*task, ended.end.lost, what);
  const bool replaced = task->gathering() && task->kept;
  parts_.executors.Unbind(*task);
  // A stage that waits for the room of this type may be requested now.
  run_.missing = run_.missing || task->fellows->bound == 0;
  if (task->over()) return;
  if (replaced) {
    // The loss belongs to the failure that ended the last epoch, or to the restarted
    // ApplicationMaster, so the replacement costs no budget again.
    parts_.record.ChangeTask(*task, TaskState::kNew, what);
    run_.missing = true;
    if (run_.plan != nullptr || !parts_.ranks.JoinsLater(*task)) return;
    // The first gang of an elastic job does not wait for a worker that can join later.
    run_.tasks.SetGang(*task, 0);
    parts_.gangs.ReleaseGangs();
    return;
  }
  task->exit = TaskExit::Lost(what);
  parts_.judge.OnTaskFailed(*task, SuccessPolicy::FailureOf(*task));
}

void TaskSteps::GoneAfterVerdict(Task& task, bool lost, const std::string& what) {
  if (!task.over()) {
    // An executor that was told to go may be lost on its way.
    const bool expected =
        task.killed() || task.binding == Binding::kDismissed || task.binding == Binding::kLeaving;
    if (lost && !expected) task.exit = TaskExit::Lost(what);
    parts_.record.ChangeTask(task, TaskState::kStopped);
    parts_.judge.Reconsider(task);
  }
  parts_.executors.Unbind(task);
  parts_.ending.EndIfAllGone();
}

void TaskSteps::OnSilent(Task& task, Reason reason, const std::string& sentence) {
  parts_.executors.Kill(task);
  if (task.over()) return;
  if (task.gathering() && task.kept) {
    // The loss belongs to the failure that ended the last epoch, or to the restarted
    // ApplicationMaster. The end of its container brings the replacement.
    parts_.record.ChangeTask(task, TaskState::kStarting, sentence);
    return;
  }
  task.exit = TaskExit::Lost(sentence);
  Verdict failure = SuccessPolicy::FailureOf(task);
  failure.reason = reason;
  parts_.judge.OnTaskFailed(task, failure);
}

bool TaskSteps::MayRunOn(const Task& task) const {
  return run_.now < task.last_heard + LeaseOf(run_.job.timeouts);
}

void TaskSteps::Rejoin(Task& task, const input::HeldTask& held) {
  parts_.executors.Attach(task);
  run_.Do(effect::SendReattached{task.container->id});
  if (task.over()) return;
  using Phase = input::HeldTask::Phase;
  // The program was started, but the journal has no release of its gang, so the run must not count.
  const bool unknown_run = task.gang != 0 && task.state == TaskState::kStarting && WasStarted(held);
  // An executor behind in epoch or attempt missed a prepare; it is sent again.
  if (held.epoch != run_.epoch || held.attempt != task.attempt || unknown_run) {
    run_.Do(effect::SendPrepare{task.container->id, run_.epoch, task.attempt, task.listed});
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
    if (!parts_.ranks.AwaitsPlan(task)) parts_.gangs.StartAgain(task);
  } else if (task.state == TaskState::kReady) {
    task.pid = held.pid;
    parts_.record.ChangeTask(task, TaskState::kRunning);
  }
}

}  // namespace tony::core
