// The deadlines of JobMachine, checked on every Tick: each ends a wait with a sentence that names
// the missing tasks.
#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/job/job_machine.h"
#include "core/model/lease.h"
#include "core/record/job_wait.h"

namespace tony::core {
namespace {

using std::chrono::milliseconds;

std::string Seconds(Duration duration) {
  return absl::StrCat(std::chrono::duration_cast<milliseconds>(duration).count() / 1000.0, " s");
}

Verdict LateRegistration(const Task& task, Duration allowed) {
  Verdict verdict;
  verdict.reason = Reason::kRegistrationTimeout;
  verdict.guilty = task.id;
  verdict.sentence = absl::StrCat(
      task.id.ToString(), " in container ", task.container->id, " on ", task.container->host,
      task.attached ? " attached but was not ready within " : " did not attach within ",
      Seconds(allowed), " (tony.container.registration.timeout)");
  return verdict;
}

}  // namespace

std::optional<TimePoint> JobMachine::NextDeadline() const {
  if (state_ == JobState::kNew || state_ == JobState::kEnded) return std::nullopt;
  const Timeouts& timeouts = job_.timeouts;
  // The next check counts from the last one, not from the last input: steady heartbeats would
  // postpone it for ever.
  TimePoint next = checked_at_ + std::max(milliseconds(1), timeouts.heartbeat_interval);
  for (const auto& [number, gang] : tasks_.gangs()) {
    for (const TimePoint at : {gang.not_before, gang.ask_after}) {
      if (at > checked_at_) next = std::min(next, at);
    }
  }
  if (judge_at_ && *judge_at_ > checked_at_) next = std::min(next, *judge_at_);
  if (state_ == JobState::kStopping && !killed_stragglers_at_) {
    return std::min<TimePoint>(next, state_since_ + timeouts.kill_grace + timeouts.shutdown);
  }
  if (state_ == JobState::kStopping) return next;
  const std::optional<TimePoint> group = groups_.NextDeadline();
  if (group && *group > checked_at_) next = std::min(next, *group);
  if (timeouts.application.count() > 0) {
    next = std::min<TimePoint>(next, started_at_ + timeouts.application);
  }
  return next;
}

void JobMachine::On(const input::Tick&) {
  const Timeouts& timeouts = job_.timeouts;
  // The order matters: this process's own absence is forgiven before any silence is judged.
  const bool was_absent = ForgiveOwnAbsence();
  checked_at_ = now_;
  if (state_ == JobState::kStopping) {
    SayWhoIsMissing();
    CheckStopping();
    return;
  }
  if (verdict_ || state_ == JobState::kNew) return;
  if (timeouts.application.count() > 0 && now_ - started_at_ >= timeouts.application) {
    Verdict verdict;
    verdict.reason = Reason::kApplicationTimeout;
    verdict.sentence = absl::StrCat("The job was not over after ", Seconds(timeouts.application),
                                    " (tony.application.timeout); it was ", JobStateName(state_),
                                    ": ", DescribeWait(*WaitIn(state_, AwaitedTasks(tasks_))));
    Decide(std::move(verdict));
    return;
  }
  CheckSilence();
  if (!verdict_) CheckKilled();
  if (!verdict_) CheckAllocation();
  if (!verdict_ && tasks_.count(TaskState::kStarting) > 0) CheckRegistration();
  if (!verdict_) SayWhoIsMissing();
  if (!verdict_) CheckPlanning();
  if (!verdict_ && !was_absent) CheckRendezvous();
  if (!verdict_ && judge_at_) CheckJudgement();
  if (!verdict_ && !was_absent) CheckGroups();
  ReleaseGangs();
}

void JobMachine::CheckJudgement() {
  if (now_ < *judge_at_) return;
  // An executor whose stream is broken may be the root cause of the other failures.
  for (const Task& task : tasks_.all()) {
    if (task.reattach_by && !task.awaited_back) return;
  }
  Judge();
}

void JobMachine::On(const input::ExecutorDetached& detached) {
  Task* task = tasks_.FindByContainer(detached.container_id);
  if (task == nullptr || !task->attached) return;
  task->attached = false;
  // A live executor opens another stream at once; a dead one never does.
  task->reattach_by = now_ + job_.timeouts.reconnect;
  if (state_ != JobState::kRunning || task->over()) return;
  Say({"the stream of an executor broke, which opens another one",
       tasks_.Names([](const Task& other) { return other.reattach_by.has_value(); }),
       absl::StrCat("it attaches again, or counts as lost after ", Seconds(job_.timeouts.reconnect),
                    " (tony.task.reconnect-timeout-ms)")});
}

void JobMachine::CheckAllocation() {
  const Duration allowed = job_.timeouts.allocation;
  for (auto& [number, gang] : tasks_.gangs()) {
    // A gang that yielded asks again when its pause is over; missing_ makes RequestMissing() look.
    missing_ = missing_ || (gang.ask_after != TimePoint() && now_ >= gang.ask_after);
    const bool late =
        allowed.count() > 0 && gang.incomplete_since && now_ - *gang.incomplete_since >= allowed;
    if (!late) {
      YieldIfHeldForLong(number, gang);
      continue;
    }
    Verdict verdict;
    verdict.reason = Reason::kAllocationTimeout;
    verdict.sentence =
        absl::StrCat("Only ", gang.bound, " of ", gang.size, " containers were held after ",
                     Seconds(allowed), " (tony.container.allocation.timeout); missing: ",
                     absl::StrJoin(tasks_.Names([number = number](const Task& task) {
                       return task.gang == number && !task.container;
                     }),
                                   ", "));
    if (!allocation_wait_.empty()) absl::StrAppend(&verdict.sentence, "; ", allocation_wait_);
    return Decide(std::move(verdict));
  }
}

void JobMachine::YieldIfHeldForLong(int number, Gang& gang) {
  const Duration hold = job_.timeouts.gang_hold;
  if (hold.count() == 0 || !gang.partly_held_since) return;
  // When two jobs each hold what the other needs, the younger job lets go first: the hold time
  // grows with the gang's age, up to twice the configured one.
  const Duration age = *gang.partly_held_since - gang.since;
  const Duration longest = hold + std::min(hold, age / 2);
  if (now_ - *gang.partly_held_since < longest) return;
  const int held = gang.bound;
  // The jitter differs between jobs (it is a hash of a container's id), so that two jobs that yield
  // together do not ask again together.
  size_t jitter = 0;
  for (Task& task : tasks_.all()) {
    if (task.gang != number || !task.container || task.killed) continue;
    if (jitter == 0) jitter = std::hash<std::string>()(task.container->id) % 1000;
    // The replacement of this container must not be charged to the budget.
    task.kept = true;
    Kill(task);
    // The task may have been ready, and the gang must not count it.
    ChangeTask(task, TaskState::kStarting, "its container is given back");
  }
  const Duration pause = hold / 4 + hold / 2 * static_cast<int>(jitter) / 1000;
  gang.ask_after = now_ + pause;
  gang.partly_held_since.reset();
  tasks_.ForgetAsked();
  missing_ = true;
  Do(effect::CancelRequests{});
  Do(effect::Record{JobWaiting{
      absl::StrCat("only ", held, " of ", gang.size, " containers came within ", Seconds(longest),
                   " (tony.container.hold-timeout-ms); they are given back, so that no two jobs "
                   "hold what the other one needs, and all are asked for again in ",
                   Seconds(pause)),
      tasks_.Names([number](const Task& task) { return task.gang == number; }),
      "room for all of them at once"}});
}

void JobMachine::CheckRegistration() {
  const Duration allowed = job_.timeouts.registration;
  Task* first = nullptr;
  // An elastic worker is replaced alone; any other late task fails the attempt.
  for (Task& task : tasks_.all()) {
    const bool late = task.state == TaskState::kStarting && task.container && allowed.count() > 0 &&
                      now_ - task.waiting_since >= allowed;
    if (!late) continue;
    if (GoesOnWithout(task)) {
      const Verdict verdict = LateRegistration(task, allowed);
      Kill(task);
      task.exit = TaskExit::Lost(verdict.sentence);
      OnTaskFailed(task, verdict);
      continue;
    }
    // The first late task is named, and all late tasks are replaced: otherwise each would cost the
    // budget.
    if (first == nullptr) first = &task;
    Kill(task);
  }
  if (first == nullptr) return;
  const Verdict verdict = LateRegistration(*first, allowed);
  first->exit = TaskExit::Lost(verdict.sentence);
  OnFailure(*first, verdict);
}

void JobMachine::SayWhoIsMissing() {
  const Duration patience = job_.timeouts.waiting_notice;
  if (state_ == JobState::kStopping) {
    if (now_ - state_since_ < patience || std::exchange(said_who_ends_, true)) return;
    return Do(effect::Record{*WaitIn(state_, AwaitedTasks(tasks_))});
  }
  for (auto& [number, gang] : tasks_.gangs()) {
    // One record per wait is enough; a later state change clears it.
    if (gang.said_missing || now_ - gang.since < patience) continue;
    if (gang.bound == 0) SayWhoseRoomIsAwaited(number, gang);
    if (gang.bound < gang.size || gang.ready == gang.size) continue;
    gang.said_missing = true;
    const JobState state =
        state_ == JobState::kRestarting ? JobState::kRestarting : JobState::kRegistering;
    Do(effect::Record{*WaitIn(state, AwaitedTasks(tasks_, number))});
  }
}

void JobMachine::SayWhoseRoomIsAwaited(int number, Gang& gang) {
  const auto member = std::find_if(tasks_.all().begin(), tasks_.all().end(),
                                   [number](const Task& task) { return task.gang == number; });
  if (!AwaitsRoom(*member)) return;
  gang.said_missing = true;
  Do(effect::Record{JobWaiting{
      absl::StrCat(member->id.type, " waits for the containers of what it comes after"),
      tasks_.Names([this](const Task& task) { return task.container && Settled(task); }),
      "their executors end what the programs have left behind; the executor.log of each task says "
      "more"}});
}

void JobMachine::Say(JobWaiting waiting) {
  Do(effect::Record{std::move(waiting)});
  said_wait_ = true;
}

void JobMachine::UnsayIfOver() {
  if (!said_wait_ || judge_at_) return;
  for (const Task& task : tasks_.all()) {
    if (task.reattach_by) return;
  }
  SayGoesOn("");
}

bool JobMachine::ForgiveOwnAbsence() {
  // This process was stopped or starved: messages that were sent meanwhile may still lie unread, so
  // no silence has been observed.
  const Duration late = now_ - checked_at_ - job_.timeouts.heartbeat_interval;
  if (late <= job_.timeouts.heartbeat_interval) return false;
  for (Task& task : tasks_.all()) {
    task.last_heard += late;
    task.killed_at += late;
    if (task.reattach_by) *task.reattach_by += late;
  }
  return true;
}

void JobMachine::CheckSilence() {
  const Duration allowed = HeartbeatTimeout(job_.timeouts);
  for (Task& task : tasks_.all()) {
    if (!task.container || task.killed) continue;
    const std::string where =
        absl::StrCat("container ", task.container->id, " on ", task.container->host);
    // An attached executor is judged by its heartbeats, one without a stream by its time to attach
    // again.
    if (task.attached && now_ - task.last_heard >= allowed) {
      OnSilent(task, Reason::kHeartbeatLost,
               absl::StrCat("no heartbeat of ", where, " for ", Seconds(allowed)));
    } else if (task.reattach_by && now_ >= *task.reattach_by) {
      OnSilent(task, Reason::kTaskLost,
               absl::StrCat("the executor of ", where, " broke off and did not attach again"));
    }
    if (verdict_) return;
  }
}

void JobMachine::OnSilent(Task& task, Reason reason, const std::string& sentence) {
  Kill(task);
  if (task.over()) return;
  if (task.gathering() && task.kept) {
    // The loss belongs to the failure that ended the last epoch, or to the restarted
    // ApplicationMaster. The end of its container brings the replacement.
    ChangeTask(task, TaskState::kStarting, sentence);
    return;
  }
  task.exit = TaskExit::Lost(sentence);
  Verdict failure = SuccessPolicy::FailureOf(task);
  failure.reason = reason;
  OnTaskFailed(task, failure);
}

bool JobMachine::MayRunOn(const Task& task) const {
  return now_ < task.last_heard + LeaseOf(job_.timeouts);
}

void JobMachine::CheckKilled() {
  for (Task& task : tasks_.all()) {
    if (!task.container || !task.killed) continue;
    // Until the lease has run out the program may still run, so no other container may get the
    // task.
    if (now_ - task.killed_at < job_.timeouts.container_kill || MayRunOn(task)) continue;
    // If the executor is alive after all, its next message is answered with a shutdown.
    On(input::ContainerEnded{
        task.container->id,
        {true,
         absl::StrCat("it was killed, but nobody says that it is gone; it is given up after ",
                      Seconds(job_.timeouts.container_kill), " (tony.container.kill.timeout)")}});
    if (verdict_) return;
  }
}

void JobMachine::CheckStopping() {
  const Timeouts& timeouts = job_.timeouts;
  if (now_ - state_since_ < timeouts.kill_grace + timeouts.shutdown) return;
  // There are two rounds: the stragglers are killed first, and after container_kill given up.
  if (killed_stragglers_at_ && now_ - *killed_stragglers_at_ < timeouts.container_kill) return;
  const bool give_up = killed_stragglers_at_.has_value();
  killed_stragglers_at_ = now_;
  for (Task& task : tasks_.all()) {
    if (!task.container) continue;
    Do(effect::Record{JobNote{absl::StrCat(
        "Container ", task.container->id, " of ", task.id.ToString(),
        give_up ? " was killed, but nobody says that it is gone; the job ends without it"
                : " did not end in time and is killed")}});
    if (give_up) {
      if (!task.over()) ChangeTask(task, TaskState::kStopped);
      tasks_.Unbind(task);
    } else {
      Kill(task);
    }
  }
  EndIfAllGone();
}

}  // namespace tony::core
