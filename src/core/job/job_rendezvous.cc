// Horovod's rendezvous in JobMachine: withholds the start of ranked tasks until the driver's plan
// is accepted, and fails the driver or a rank when the rendezvous cannot complete.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/job/job_machine.h"
#include "core/record/duration_text.h"
#include "core/tasks/task_names.h"

namespace tony::core {
namespace {

/// How long a rank that succeeded may still be reported missing. The driver is told of no ends; it
/// reports every ten seconds, so a correction would have come by then.
constexpr std::chrono::seconds kUnmetPatience{15};

}  // namespace

bool JobMachine::AwaitsPlan(const Task& task) const {
  if (job_.framework != Framework::kHorovod || !IsRanked(task.id.type)) return false;
  if (plan_ == nullptr) return true;
  return IsElastic(task) && !SlotOf(*plan_, MemberName(task.id, task.attempt)).ok();
}

void JobMachine::On(const input::RanksPlanned& planned) {
  Task* driver = Heard(planned.container_id);
  // On a new stream the driver repeats a plan that is already accepted.
  const bool known = Elastic() == nullptr && driver != PlanningDriver();
  if (!IsCurrent(driver, planned) || known || verdict_) return;
  if (driver->id.type != kDriverType || driver->over()) return;
  if (!planned.trouble.empty()) return FailDriver(*driver, planned.trouble);
  if (Elastic() != nullptr) return AcceptRound(*driver, planned.plan);
  const absl::Status fits = CheckPlan(planned.plan, WorkerHostsOf(*spec_));
  if (!fits.ok()) return FailDriver(*driver, std::string(fits.message()));
  plan_ = std::make_shared<const RendezvousPlan>(planned.plan);
  Note(decision::PlanAccepted{epoch_, planned.plan});
  StartPlanned();
  if (std::exchange(said_planning_, false)) SayGoesOn("The driver has said who has which rank");
}

void JobMachine::StartPlanned() {
  std::vector<std::string> container_ids;
  for (const Task& task : tasks_.all()) {
    const bool waits = IsRanked(task.id.type) && task.listed && task.gang == 0 &&
                       task.state == TaskState::kReady && task.told_to_start != task.attempt;
    // A task that must attach again reports then whether it was told to start.
    if (waits && task.attached && !AwaitsPlan(task)) container_ids.push_back(task.container->id);
  }
  if (!container_ids.empty()) SendStart(std::move(container_ids));
}

void JobMachine::Redo(const decision::PlanAccepted& accepted) {
  const bool first = plan_ == nullptr;
  plan_ = std::make_shared<const RendezvousPlan>(accepted.plan);
  if (first) InviteOthers();
}

void JobMachine::On(const input::RendezvousWait& wait) {
  Task* driver = Heard(wait.container_id);
  if (!IsCurrent(driver, wait) || driver->id.type != kDriverType || verdict_ || driver->over()) {
    return;
  }
  // The same report may come again; only a change is recorded.
  if (std::exchange(rendezvous_wait_, wait.wait) == wait.wait) return;
  rendezvous_wait_since_ = now_;
  if (wait.wait.sentence.empty()) return SayGoesOn("All processes have found each other");
  SayWhoIsNotFound();
}

void JobMachine::SayWhoIsNotFound() {
  const std::string limit =
      Elastic() != nullptr
          ? "(tony.horovod.elastic-timeout-sec, and within a round "
            "tony.horovod.rendezvous-timeout-ms)"
          : absl::StrCat(FormatDuration(job_.horovod.rendezvous.count()),
                         " after the first one (tony.horovod.rendezvous-timeout-ms)");
  std::vector<std::string> missing = rendezvous_wait_.missing;
  if (missing.size() > kMostTaskNames) {
    missing.resize(kMostTaskNames);
    missing.push_back(
        absl::StrCat("and ", rendezvous_wait_.missing.size() - kMostTaskNames, " more"));
  }
  Do(effect::Record{JobWaiting{absl::StrCat(rendezvous_wait_.sentence, DescribeEndedUnmet()),
                               std::move(missing),
                               absl::StrCat("they come by themselves, or the job fails ", limit,
                                            "; `tony logs` shows what they are at")}});
}

std::vector<const Task*> JobMachine::EndedUnmet() const {
  const std::vector<std::string>& missing = rendezvous_wait_.missing;
  std::vector<const Task*> ended;
  if (missing.empty()) return ended;
  // A rank that exited with code 0 while others still wait for it will never come.
  for (const Task& task : tasks_.all()) {
    if (task.state != TaskState::kSucceeded || !IsRanked(task.id.type)) continue;
    const auto found = std::find(missing.begin(), missing.end(), task.id.ToString());
    if (found != missing.end()) ended.push_back(&task);
  }
  return ended;
}

std::string JobMachine::DescribeEndedUnmet() const {
  const std::vector<const Task*> ended = EndedUnmet();
  if (ended.empty()) return "";
  const std::string first = WithRank(
      *ended.front(), absl::StrCat(ended.front()->id.ToString(), " has ended with code 0"));
  return absl::StrCat(
      "; ", first, " without joining the others",
      ended.size() == 1 ? "" : absl::StrCat(", as have ", ended.size() - 1, " more"));
}

void JobMachine::CheckRendezvous() {
  const Task* const driver = tasks_.Find({kDriverType, 0});
  // A driver that must attach again may have a newer report.
  if (driver == nullptr || !driver->attached || judge_at_ || state_ != JobState::kRunning) return;
  for (const Task* task : EndedUnmet()) {
    // The patience runs from the later of the end and the report: an older report may not know the
    // end yet.
    if (now_ - std::max(task->since, rendezvous_wait_since_) < kUnmetPatience) continue;
    Verdict failure = SuccessPolicy::FailureOf(*task);
    failure.sentence = absl::StrCat(WithRank(*task, std::move(failure.sentence)),
                                    " without joining the others: ", rendezvous_wait_.sentence);
    return OnFailure(*task, failure);
  }
}

Task* JobMachine::PlanningDriver() {
  if (verdict_ || plan_ != nullptr || job_.framework != Framework::kHorovod) return nullptr;
  Task* driver = tasks_.Find({kDriverType, 0});
  return driver != nullptr && driver->listed && !driver->over() ? driver : nullptr;
}

void JobMachine::CheckPlanning() {
  Task* driver = PlanningDriver();
  // A driver that must attach again may have sent the plan already.
  if (driver == nullptr || !driver->attached || !running_since_) return;
  // After a restart of the ApplicationMaster the driver gets the full time to repeat its plan.
  const Duration waited = now_ - std::max(*running_since_, state_since_);
  if (waited >= job_.horovod.driver_start) {
    return FailDriver(*driver, absl::StrCat("it did not say within ",
                                            FormatDuration(job_.horovod.driver_start.count()),
                                            " who has which rank "
                                            "(tony.horovod.driver.start-timeout-ms)"));
  }
  if (waited < job_.timeouts.waiting_notice || std::exchange(said_planning_, true)) return;
  Do(effect::Record{JobWaiting{"nobody starts before the driver has said who has which rank",
                               {driver->id.ToString()},
                               "it comes by itself; `tony logs JOB driver` says more"}});
}

bool JobMachine::IsDriver(const Task& task) const {
  return job_.framework == Framework::kHorovod && task.id.type == kDriverType;
}

TaskExit JobMachine::DriverExit(const TaskExit& exit) const {
  // A signal never comes from the job's program, so a signalled tony-driver is charged to the
  // infrastructure's budget. A user's own driver is a program like any other.
  TaskExit told = exit;
  if (exit.cause == TaskExit::Cause::kSignaled && !job_.horovod.own_driver) {
    told.cause = TaskExit::Cause::kLost;
    told.message =
        absl::StrCat("tony-driver ", exit.Describe(), ", in which the job's program has no part");
  } else if (exit.cause == TaskExit::Cause::kExited && !exit.ok() && exit.message.empty()) {
    // An exit of its own is about the wait that it reported last; a signal is not.
    told.message = absl::StrCat(rendezvous_wait_.sentence, DescribeEndedUnmet());
    if (!last_loss_.empty()) {
      absl::StrAppend(&told.message, told.message.empty() ? "" : "; ",
                      "the last process that was lost: ", last_loss_);
    }
  }
  return told;
}

void JobMachine::FailDriver(Task& driver, const std::string& why) {
  driver.exit = TaskExit{.cause = TaskExit::Cause::kNotStarted, .message = why};
  OnTaskFailed(driver, SuccessPolicy::FailureOf(driver));
}

Verdict JobMachine::FailureOf(const Task& task) const {
  Verdict failure = SuccessPolicy::FailureOf(task);
  // The driver's exit blames the ranks only if it gave up on exactly the wait that it reported. A
  // rank that ended well is guilty before one that is merely late.
  const RendezvousWait& wait = rendezvous_wait_;
  const bool in_vain = IsDriver(task) && !job_.horovod.own_driver && !wait.missing.empty() &&
                       task.exit->cause == TaskExit::Cause::kExited &&
                       absl::StartsWith(task.exit->message, wait.sentence);
  if (!in_vain) return failure;
  const std::vector<const Task*> ended = EndedUnmet();
  for (const Task& other : tasks_.all()) {
    const bool first = other.id.ToString() == wait.missing.front();
    if (ended.empty() ? !first : &other != ended.front()) continue;
    failure.guilty = other.id;
    failure.exit = other.exit;
    failure.sentence = task.exit->message;
  }
  return failure;
}

absl::StatusOr<Slot> JobMachine::PlaceOf(const Task& task) const {
  if (plan_ == nullptr || spec_ == nullptr || !IsRanked(task.id.type)) {
    return absl::NotFoundError("no ranks are known");
  }
  return IsElastic(task) ? SlotOf(*plan_, MemberName(task.id, task.attempt))
                         : SlotOf(*plan_, WorkerHostsOf(*spec_), task.id);
}

std::string JobMachine::WithRank(const Task& task, std::string sentence) const {
  const absl::StatusOr<Slot> slot = PlaceOf(task);
  const std::string name = task.id.ToString();
  if (!slot.ok() || sentence.rfind(name + " ", 0) != 0) return sentence;
  return sentence.replace(0, name.size(), NameOfRank(name, *slot));
}

}  // namespace tony::core
