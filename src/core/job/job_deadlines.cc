// The order of the checks matters: this process's own absence is forgiven before any silence is
// judged.
#include "core/job/job_deadlines.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/job/executors.h"
#include "core/job/failure_judge.h"
#include "core/job/gang_scheduler.h"
#include "core/job/job_ending.h"
#include "core/job/job_parts.h"
#include "core/job/job_record.h"
#include "core/job/ranks.h"
#include "core/job/task_steps.h"
#include "core/model/lease.h"
#include "core/record/duration_text.h"

namespace tony::core {
namespace {

Verdict LateRegistration(const Task& task, Duration allowed) {
  Verdict verdict;
  verdict.reason = Reason::kRegistrationTimeout;
  verdict.guilty = task.id;
  verdict.sentence = absl::StrCat(
      task.id.ToString(), " in container ", task.container->id, " on ", task.container->host,
      task.attached() ? " attached but was not ready within " : " did not attach within ",
      SecondsText(allowed), " (tony.container.registration.timeout)");
  return verdict;
}

}  // namespace

void JobDeadlines::CheckGroups() {
  const std::optional<TimePoint> due = run_.groups.NextDeadline();
  if (!due || run_.now < *due) return;
  // An executor that must attach again may report an end that came in time.
  for (const Task& task : run_.tasks.all()) {
    if (task.awaited()) return;
  }
  for (const OverdueType& overdue : run_.groups.TakeDue(run_.now)) {
    if (run_.verdict) return;
    if (overdue.ignored) {
      if (run_.tasks.of(overdue.type).tracking != Tracking::kTracked) continue;
      run_.Do(effect::Record{JobNote{overdue.sentence}});
      run_.Note(decision::TrackingStopped{overdue.type});
      StopTracking(overdue.type);
      continue;
    }
    Verdict verdict;
    verdict.reason = Reason::kDependencyTimeout;
    verdict.sentence = overdue.sentence;
    const auto late = std::find_if(
        run_.tasks.all().begin(), run_.tasks.all().end(),
        [&overdue](const Task& task) { return task.id.type == overdue.type && !task.over(); });
    if (late != run_.tasks.all().end()) verdict.guilty = late->id;
    parts_.ending.Decide(std::move(verdict));
  }
}

void JobDeadlines::StopTracking(const std::string& type) {
  run_.tasks.StopTracking(type);
  parts_.judge.JudgeEnd();
  if (!run_.verdict) parts_.gangs.OnProgress();
}

std::optional<TimePoint> JobDeadlines::NextDeadline() const {
  if (run_.state == JobState::kNew || run_.state == JobState::kEnded) return std::nullopt;
  const Timeouts& timeouts = run_.job.timeouts;
  // The next check counts from the last one, not from the last input: steady heartbeats would
  // postpone it for ever.
  TimePoint next =
      checked_at_ + std::max(std::chrono::milliseconds(1), timeouts.heartbeat_interval);
  for (const auto& [number, gang] : run_.tasks.gangs()) {
    for (const TimePoint at : {gang.not_before, gang.ask_after}) {
      if (at > checked_at_) next = std::min(next, at);
    }
  }
  if (run_.judge_at && *run_.judge_at > checked_at_) next = std::min(next, *run_.judge_at);
  if (run_.state == JobState::kStopping && !parts_.ending.killed_stragglers()) {
    return std::min<TimePoint>(next, run_.state_since + timeouts.kill_grace + timeouts.shutdown);
  }
  if (run_.state == JobState::kStopping) return next;
  const std::optional<TimePoint> group = run_.groups.NextDeadline();
  if (group && *group > checked_at_) next = std::min(next, *group);
  if (timeouts.application.count() > 0) {
    next = std::min<TimePoint>(next, run_.started_at + timeouts.application);
  }
  return next;
}

bool JobDeadlines::EndIfOverdue() {
  const std::chrono::milliseconds allowed = run_.job.timeouts.application;
  if (allowed.count() <= 0 || run_.now - run_.started_at < allowed) return false;
  Verdict verdict;
  verdict.reason = Reason::kApplicationTimeout;
  verdict.sentence = absl::StrCat(
      "The job was not over after ", SecondsText(allowed), " (tony.application.timeout); it was ",
      JobStateName(run_.state), ": ", DescribeWait(*WaitIn(run_.state, AwaitedTasks(run_.tasks))));
  if (run_.tasks.count(TaskState::kRunning) > 0) {
    absl::StrAppend(&verdict.sentence, "; `tony stacks` shows where the programs were");
  }
  parts_.ending.Decide(std::move(verdict));
  return true;
}

void JobDeadlines::Tick() {
  // The order matters: this process's own absence is forgiven before any silence is judged.
  const bool was_absent = ForgiveOwnAbsence();
  checked_at_ = run_.now;
  if (run_.state == JobState::kStopping) {
    RecordMissing();
    parts_.ending.CheckStopping();
    return;
  }
  if (run_.verdict || run_.state == JobState::kNew) return;
  if (EndIfOverdue()) return;
  CheckContainers();
  if (!run_.verdict) CheckTogether(was_absent);
  parts_.gangs.ReleaseGangs();
}

void JobDeadlines::CheckContainers() {
  CheckSilence();
  if (!run_.verdict) CheckKilled();
  if (!run_.verdict) CheckAllocation();
  if (!run_.verdict && run_.tasks.count(TaskState::kStarting) > 0) CheckRegistration();
}

void JobDeadlines::CheckTogether(bool was_absent) {
  RecordMissing();
  if (!run_.verdict) parts_.ranks.CheckPlanning();
  if (!run_.verdict && !was_absent) parts_.ranks.CheckRendezvous();
  if (!run_.verdict && run_.judge_at) parts_.judge.CheckJudgement();
  if (!run_.verdict && !was_absent) CheckGroups();
}

void JobDeadlines::CheckAllocation() {
  const Duration allowed = run_.job.timeouts.allocation;
  for (auto& [number, gang] : run_.tasks.gangs()) {
    // A gang that yielded asks again when its pause is over; run_.missing makes
    // parts_.gangs.RequestMissing() look.
    run_.missing = run_.missing || (gang.ask_after != TimePoint() && run_.now >= gang.ask_after);
    const bool late = allowed.count() > 0 && gang.incomplete_since &&
                      run_.now - *gang.incomplete_since >= allowed;
    if (!late) {
      YieldIfHeldForLong(number, gang);
      continue;
    }
    Verdict verdict;
    verdict.reason = Reason::kAllocationTimeout;
    verdict.sentence =
        absl::StrCat("Only ", gang.bound, " of ", gang.size, " containers were held after ",
                     SecondsText(allowed), " (tony.container.allocation.timeout); missing: ",
                     absl::StrJoin(run_.tasks.Names([number = number](const Task& task) {
                       return task.gang == number && !task.container;
                     }),
                                   ", "));
    if (!run_.allocation_wait.empty())
      absl::StrAppend(&verdict.sentence, "; ", run_.allocation_wait);
    return parts_.ending.Decide(std::move(verdict));
  }
}

void JobDeadlines::YieldIfHeldForLong(int number, Gang& gang) {
  const Duration hold = run_.job.timeouts.gang_hold;
  if (hold.count() == 0 || !gang.partly_held_since) return;
  // When two jobs each hold what the other needs, the younger job lets go first: the hold time
  // grows with the gang's age, up to twice the configured one.
  const Duration age = *gang.partly_held_since - gang.since;
  const Duration longest = hold + std::min(hold, age / 2);
  if (run_.now - *gang.partly_held_since < longest) return;
  const int held = gang.bound;
  // The jitter differs between jobs (it is a hash of a container's id), so that two jobs that yield
  // together do not ask again together.
  size_t jitter = 0;
  for (Task& task : run_.tasks.all()) {
    if (task.gang != number || !task.container || task.killed()) continue;
    if (jitter == 0) jitter = std::hash<std::string>()(task.container->id) % 1000;
    // The replacement of this container must not be charged to the budget.
    task.kept = true;
    parts_.executors.Kill(task);
    // The task may have been ready, and the gang must not count it.
    parts_.record.ChangeTask(task, TaskState::kStarting, "its container is given back");
  }
  const Duration pause = hold / 4 + hold / 2 * static_cast<int>(jitter) / 1000;
  gang.ask_after = run_.now + pause;
  gang.partly_held_since.reset();
  parts_.executors.CancelRequests();
  run_.missing = true;
  run_.Do(effect::CancelRequests{});
  run_.Do(effect::Record{JobWaiting{
      absl::StrCat("only ", held, " of ", gang.size, " containers came within ",
                   SecondsText(longest),
                   " (tony.container.hold-timeout-ms); they are given back, so that no two jobs "
                   "hold what the other one needs, and all are asked for again in ",
                   SecondsText(pause)),
      run_.tasks.Names([number](const Task& task) { return task.gang == number; }),
      "room for all of them at once"}});
}

void JobDeadlines::CheckRegistration() {
  const Duration allowed = run_.job.timeouts.registration;
  Task* first = nullptr;
  // An elastic worker is replaced alone; any other late task fails the attempt.
  for (Task& task : run_.tasks.all()) {
    const bool late = task.state == TaskState::kStarting && task.container && allowed.count() > 0 &&
                      run_.now - task.waiting_since >= allowed;
    if (!late) continue;
    if (parts_.ranks.GoesOnWithout(task)) {
      const Verdict verdict = LateRegistration(task, allowed);
      parts_.executors.Kill(task);
      task.exit = TaskExit::Lost(verdict.sentence);
      parts_.judge.OnTaskFailed(task, verdict);
      continue;
    }
    // The first late task is named, and all late tasks are replaced: otherwise each would cost the
    // budget.
    if (first == nullptr) first = &task;
    parts_.executors.Kill(task);
  }
  if (first == nullptr) return;
  const Verdict verdict = LateRegistration(*first, allowed);
  first->exit = TaskExit::Lost(verdict.sentence);
  parts_.judge.OnFailure(*first, verdict);
}

void JobDeadlines::RecordMissing() {
  const Duration patience = run_.job.timeouts.waiting_notice;
  if (run_.state == JobState::kStopping) {
    if (run_.now - run_.state_since < patience || std::exchange(ending_recorded_, true)) return;
    return run_.Do(effect::Record{*WaitIn(run_.state, AwaitedTasks(run_.tasks))});
  }
  for (auto& [number, gang] : run_.tasks.gangs()) {
    // One record per wait is enough; a later state change clears it.
    if (gang.missing_recorded || run_.now - gang.since < patience) continue;
    if (gang.bound == 0) RecordRoomWait(number, gang);
    if (gang.bound < gang.size || gang.ready == gang.size) continue;
    gang.missing_recorded = true;
    const JobState state =
        run_.state == JobState::kRestarting ? JobState::kRestarting : JobState::kRegistering;
    run_.Do(effect::Record{*WaitIn(state, RecordedTogether(number))});
  }
}

std::vector<AwaitedTask> JobDeadlines::RecordedTogether(int number) {
  if (run_.job.mode == DistributedMode::kGang) return AwaitedTasks(run_.tasks, number);
  std::vector<AwaitedTask> awaited;
  for (const Task& task : run_.tasks.all()) {
    if (task.gang == 0 || !task.container) continue;
    run_.tasks.gangs().at(task.gang).missing_recorded = true;
    awaited.push_back({task.id, task.state, task.tracking() == Tracking::kTracked});
  }
  return awaited;
}

void JobDeadlines::RecordRoomWait(int number, Gang& gang) {
  const auto member = std::find_if(run_.tasks.all().begin(), run_.tasks.all().end(),
                                   [number](const Task& task) { return task.gang == number; });
  if (!parts_.gangs.AwaitsRoom(*member)) return;
  gang.missing_recorded = true;
  for (const Task& task : run_.tasks.all()) {
    // Tasks that are first come, first served, are gangs of their own.
    const bool alike = task.gang != 0 && task.id.type == member->id.type;
    if (alike) run_.tasks.gangs().at(task.gang).missing_recorded = true;
  }
  run_.Do(effect::Record{JobWaiting{
      absl::StrCat(member->id.type, " waits for the containers of what it comes after"),
      run_.tasks.Names(
          [this](const Task& task) { return task.container && parts_.gangs.Settled(task); }),
      "their executors end what the programs have left behind; the executor.log of each task says "
      "more"}});
}

bool JobDeadlines::ForgiveOwnAbsence() {
  // This process was stopped or starved: messages that were sent meanwhile may still lie unread, so
  // no silence has been observed.
  const Duration late = run_.now - checked_at_ - run_.job.timeouts.heartbeat_interval;
  if (late <= run_.job.timeouts.heartbeat_interval) return false;
  for (Task& task : run_.tasks.all()) {
    task.last_heard += late;
    task.killed_at += late;
    task.reattach_by += late;
  }
  return true;
}

void JobDeadlines::CheckSilence() {
  const Duration allowed = HeartbeatTimeout(run_.job.timeouts);
  for (Task& task : run_.tasks.all()) {
    if (!task.container || task.killed()) continue;
    const std::string where =
        absl::StrCat("container ", task.container->id, " on ", task.container->host);
    // An attached executor is judged by its heartbeats, one without a stream by its time to attach
    // again.
    if (task.attached() && run_.now - task.last_heard >= allowed) {
      parts_.steps.OnSilent(task, Reason::kHeartbeatLost,
                            absl::StrCat("no heartbeat of ", where, " for ", SecondsText(allowed)));
    } else if (task.awaited() && run_.now >= task.reattach_by) {
      parts_.steps.OnSilent(
          task, Reason::kTaskLost,
          absl::StrCat("the executor of ", where, " broke off and did not attach again"));
    }
    if (run_.verdict) return;
  }
}

void JobDeadlines::CheckKilled() {
  for (Task& task : run_.tasks.all()) {
    if (!task.killed()) continue;
    // Until the lease has run out the program may still run, so no other container may get the
    // task.
    if (run_.now - task.killed_at < run_.job.timeouts.container_kill || parts_.steps.MayRunOn(task))
      continue;
    // If the executor is alive after all, its next message is answered with a shutdown.
    parts_.steps.ContainerGone(input::ContainerEnded{
        task.container->id,
        {true, absl::StrCat("it was killed, but nobody says that it is gone; it is given up after ",
                            SecondsText(run_.job.timeouts.container_kill),
                            " (tony.container.kill.timeout)")}});
    if (run_.verdict) return;
  }
}

}  // namespace tony::core
