// The driver announces in rounds who takes part; this class tells it which processes there are.
#include "core/job/elastic_ranks.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/job/executors.h"
#include "core/job/failure_judge.h"
#include "core/job/gang_scheduler.h"
#include "core/job/job_parts.h"
#include "core/job/job_record.h"
#include "core/record/duration_text.h"

namespace tony::core {

bool ElasticRanks::IsElastic(const Task& task) { return task.id.type == kElasticType; }

bool ElasticRanks::JoinsLater(const Task& task) const {
  return IsElastic(task) && task.id.index >= settings_.first && !task.container;
}

bool ElasticRanks::GoesOnWithout(const Task& task) const {
  if (!IsElastic(task) || run_.plan == nullptr || finished_ || run_.verdict) return false;
  // Without a driver no further round begins, so the worker would wait for ever.
  const Task* driver = run_.tasks.Find({kDriverType, 0});
  return driver != nullptr && !driver->over();
}

bool ElasticRanks::TakesPart(const Task& task) const {
  if (task.state == TaskState::kRunning) return true;
  // A replayed journal leaves every running program in this state, since a start is no decision.
  return task.state == TaskState::kReady && task.gang == 0 && task.listed && !AwaitsPlan(task);
}

const Task* ElasticRanks::WaitsForRound() const {
  for (const Task& task : run_.tasks.all()) {
    if (IsElastic(task) && !finished_ && !task.over() && !TakesPart(task)) return &task;
  }
  return nullptr;
}

std::vector<ElasticMember> ElasticRanks::Members() const {
  std::vector<ElasticMember> members;
  // A member is a worker that is registered and gathered by no gang; the driver may give it a rank.
  for (const Task& task : run_.tasks.all()) {
    const bool there = task.state == TaskState::kReady || task.state == TaskState::kRunning;
    if (!IsElastic(task) || !there || task.gang != 0 || !task.container || task.killed()) continue;
    members.push_back(
        {MemberName(task.id, task.attempt), HostNameOf(parts_.gangs.EndpointOf(task))});
  }
  return members;
}

void ElasticRanks::OnDriverAttached() {
  last_members_.reset();
  // A replayed journal has told these notes again, which the last ApplicationMaster has recorded.
  held_notes_.clear();
  run_.members_changed = true;
}

void ElasticRanks::SendMembersIfChanged() {
  if (!run_.members_changed || run_.verdict) return;
  const Task* driver = run_.tasks.Find({kDriverType, 0});
  if (driver == nullptr || !driver->attached() || driver->state != TaskState::kRunning) return;
  run_.members_changed = false;
  // The driver is told only of changes: most inputs that set the mark leave the list
  // alone.
  effect::SendMembers message{driver->container->id, run_.epoch, driver->attempt, Members(),
                              finished_};
  if (last_members_ && last_members_->members == message.members &&
      last_members_->finished == finished_) {
    return;
  }
  last_members_ = message;
  run_.Do(std::move(message));
}

void ElasticRanks::Accept(Task& driver, const RendezvousPlan& plan) {
  if (run_.plan != nullptr && plan.round <= run_.plan->round) return;
  const absl::Status fits = CheckElasticPlan(plan);
  if (!fits.ok()) return FailDriver(driver, std::string(fits.message()));
  const bool first = run_.plan == nullptr;
  run_.plan = std::make_shared<const RendezvousPlan>(plan);
  ForgetWait();  // the last report was about the previous round
  first_loss_.reset();
  // A further round begins only when a process has asked for it.
  if (!first) RecordHeldNotes();
  run_.Note(decision::PlanAccepted{run_.epoch, plan});
  StartPlanned();
  parts_.record.RecordContinues(absl::StrCat("Round ", plan.round, ": ", plan.slots.size(),
                                             plan.slots.size() == 1 ? " process" : " processes"));
  if (first) InviteOthers();
}

void ElasticRanks::InviteOthers() {
  // Workers requested in the last epoch may be there already; they join, too.
  for (Task& task : run_.tasks.all()) {
    const bool waits = task.gang == 0 && !task.listed && !task.over();
    if (IsElastic(task) && waits) parts_.gangs.FormGang({&task}, Duration(0));
  }
  parts_.gangs.ReleaseGangs();
}

void ElasticRanks::Lose(Task& task, const Verdict& failure) {
  // Only an end of the program itself may be the same in all processes.
  const TaskExit::Cause cause = task.exit->cause;
  if (cause != TaskExit::Cause::kExited && cause != TaskExit::Cause::kSignaled) RecordHeldNotes();
  last_loss_ = failure;
  if (!first_loss_) first_loss_ = failure;
  parts_.record.ChangeTask(task, TaskState::kFailed, task.exit->Describe());
  decision::TasksRestarted restarted;
  restarted.epoch = run_.epoch;
  restarted.tasks = {task.id};
  restarted.cause = failure.sentence;
  restarted.guilty = task.id;
  restarted.budgets = parts_.judge.budgets();
  restarted.delay = Cooldown(task);
  restarted.container_lost = !task.container || task.killed();
  RestartAlone(task, restarted);
}

Duration ElasticRanks::Cooldown(const Task& task) {
  Duration delay = settings_.cooldown;
  // Cooldown keeps a failing host out. A host whose container is lost is gone anyway.
  if (!task.container) return Duration(0);
  int& failures = failures_on_[task.container->host_id];
  for (int i = 0; i < failures && delay < settings_.cooldown_max; ++i) delay *= 2;
  ++failures;
  return std::min<Duration>(delay, settings_.cooldown_max);
}

void ElasticRanks::RestartAlone(Task& task, const decision::TasksRestarted& restarted) {
  // The journal entry makes a later ApplicationMaster count the same attempt; it fences messages of
  // the lost run.
  run_.Note(restarted);
  const bool kept = !restarted.container_lost;
  NoteLoss(absl::StrCat(
      restarted.cause, ": the others go on; ", task.id.ToString(), " starts again ",
      kept && restarted.delay > Duration(0)
          ? absl::StrCat("in ", FormatDuration(restarted.delay / std::chrono::milliseconds(1)))
      : kept ? "at once"
             : "when there is another container"));
  task.exit.reset();
  task.stranger.clear();
  task.waiting_since = run_.now;
  ++task.attempt;
  // A task that has not started in this epoch yet is not in the cluster spec, and nobody knows its
  // ports.
  const bool known = kept && task.listed;
  run_.tasks.SetListed(task, known);
  // The end of a killed container brings its replacement.
  if (task.container) task.kept = true;
  if (task.container && !kept && !task.killed()) parts_.executors.Ignore(task);
  parts_.record.ChangeTask(task, task.container ? TaskState::kStarting : TaskState::kNew);
  if (kept && task.attached()) {
    run_.Do(
        effect::SendPrepare{task.container->id, run_.epoch, task.attempt, /*keep_ports=*/known});
  }
  parts_.gangs.FormGang({&task}, restarted.delay);
}

// A program that cannot even import its library ends in each process at once. What is said of the
// others would be wrong before the next process ends, so it is not said before they have met.
void ElasticRanks::NoteLoss(std::string sentence) {
  held_notes_.push_back(std::move(sentence));
  if (goes_on_) RecordHeldNotes();
}

void ElasticRanks::RecordHeldNotes() {
  goes_on_ = true;
  for (std::string& sentence : std::exchange(held_notes_, {})) {
    run_.Do(effect::Record{JobNote{std::move(sentence)}});
  }
}

void ElasticRanks::OnWait(Task& driver, const input::RendezvousWait& wait) {
  HorovodRanks::OnWait(driver, wait);
  if (run_.IsCurrent(&driver, wait) && !run_.verdict && wait.wait.sentence != kNobodyCame)
    RecordHeldNotes();
}

Verdict ElasticRanks::FailureOf(const Task& task) const {
  Verdict failure = HorovodRanks::FailureOf(task);
  const bool gave_up = task.id.type == kDriverType && failure.guilty == task.id &&
                       task.exit->cause == TaskExit::Cause::kExited && !run_.job.horovod.own_driver;
  if (!gave_up || wait_sentence().empty() || !last_loss_) return failure;
  const bool nobody_came = wait_sentence() == kNobodyCame;
  failure = nobody_came ? *first_loss_ : *last_loss_;
  std::string& sentence = failure.sentence;
  if (!nobody_came) {
    absl::StrAppend(&sentence, ". ", wait_sentence());
    return failure;
  }
  // The explanation of the program's end stays the last part of the sentence.
  std::string why = failure.exit ? absl::StrCat(": ", failure.exit->message) : "";
  if (!absl::EndsWith(sentence, why)) why.clear();
  sentence.insert(sentence.size() - why.size(), " before it came to hvd.init()");
  return failure;
}

void ElasticRanks::OnSucceeded(const Task& ended) {
  if (!IsElastic(ended) || std::exchange(finished_, true)) return;
  RecordHeldNotes();
  bool asked = false;
  for (Task& task : run_.tasks.all()) {
    if (!IsElastic(task) || task.over() || TakesPart(task)) continue;
    asked = asked || task.asked();
    run_.tasks.SetGang(task, 0);
    parts_.record.ChangeTask(task, TaskState::kStopped,
                             "a process has ended well, so nobody joins any more");
    if (task.attached()) parts_.executors.Dismiss(task, "the job is coming to its end");
  }
  if (!asked) return;
  parts_.executors.CancelRequests();
  run_.Do(effect::CancelRequests{});
}

void ElasticRanks::OnPlanReplayed(const decision::PlanAccepted& accepted) {
  const bool first = run_.plan == nullptr;
  HorovodRanks::OnPlanReplayed(accepted);
  if (first) InviteOthers();
}

void ElasticRanks::OnEpochOpened() {
  OnDriverAttached();
  finished_ = false;
  first_loss_.reset();
  last_loss_.reset();
  goes_on_ = false;
  held_notes_.clear();
  HorovodRanks::OnEpochOpened();
}

bool ElasticRanks::AwaitsPlan(const Task& task) const {
  if (run_.plan == nullptr) return HorovodRanks::AwaitsPlan(task);
  return IsElastic(task) && !SlotOf(*run_.plan, MemberName(task.id, task.attempt)).ok();
}

bool ElasticRanks::FailIfNeeded(Task& task) {
  if (HorovodRanks::FailIfNeeded(task)) return true;
  const Task* const other = task.id.type == kDriverType ? WaitsForRound() : nullptr;
  if (other == nullptr) return false;
  FailDriver(task, absl::StrCat("it ended although ", other->id.ToString(),
                                " waits to take part in a round"));
  return true;
}

std::string ElasticRanks::WaitLimit() const {
  return "(tony.horovod.elastic-timeout-sec, and within a round "
         "tony.horovod.rendezvous-timeout-ms)";
}

absl::StatusOr<Slot> ElasticRanks::TaskSlot(const Task& task) const {
  if (!IsElastic(task) || run_.plan == nullptr || run_.spec == nullptr) {
    return HorovodRanks::TaskSlot(task);
  }
  return SlotOf(*run_.plan, MemberName(task.id, task.attempt));
}

}  // namespace tony::core
