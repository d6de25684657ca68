// The deadlines of JobMachine: each ends a wait with a sentence that names who is missing.
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
  // Counted from the last look, not from the last input: steady heartbeats would put it off for
  // ever.
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
  // Whose stream is broken may be the one that all others lost.
  for (const Task& task : tasks_.all()) {
    if (task.reattach_by && !task.awaited_back) return;
  }
  Judge();
}

void JobMachine::On(const input::ExecutorDetached& detached) {
  Task* task = tasks_.FindByContainer(detached.container_id);
  if (task == nullptr || !task->attached) return;
  task->attached = false;
  // One that lives tries at once to open another stream; one that is dead never does.
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
  // Of two jobs that hold what the other one needs, the younger is the first to let go.
  const Duration age = *gang.partly_held_since - gang.since;
  const Duration longest = hold + std::min(hold, age / 2);
  if (now_ - *gang.partly_held_since < longest) return;
  const int held = gang.bound;
  size_t jitter = 0;
  for (Task& task : tasks_.all()) {
    if (task.gang != number || !task.container || task.killed) continue;
    if (jitter == 0) jitter = std::hash<std::string>()(task.container->id) % 1000;
    // Its place is to be taken without touching the budget.
    task.kept = true;
    Kill(task);
    // It may have been ready, and the gang is not to count it.
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
    // The first is named, but all are replaced: each would cost the budget once more otherwise.
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
    // Once per wait is enough on the record; a later state change clears it.
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
  // This process was stopped, or starved: what was sent meanwhile may still lie unread, and
  // nobody's silence has been seen.
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
    // Lost together with what failed the last epoch, or with the ApplicationMaster. Its container's
    // end will bring the replacement.
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
    if (now_ - task.killed_at < job_.timeouts.container_kill || MayRunOn(task)) continue;
    // Should its executor live on, it is told to go as soon as it says a word.
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
