// Withholds the start of ranked tasks until the driver's plan is accepted.
#include "core/job/horovod_ranks.h"

#include <algorithm>
#include <map>
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
#include "core/rendezvous/elastic_rounds.h"
#include "core/tasks/task_names.h"

namespace tony::core {
namespace {

/// How long a rank that succeeded may still be reported missing. The driver is told of no ends; it
/// reports every ten seconds, so a correction would have come by then.
constexpr std::chrono::seconds kUnmetPatience{15};

}  // namespace

bool HorovodRanks::RankedRun() const {
  return std::any_of(run_.job.types.begin(), run_.job.types.end(), [this](const TaskType& type) {
    return IsRanked(type.name) && !run_.tasks.of(type.name).complete();
  });
}

void HorovodRanks::OnSettled() {
  const std::set<std::string>& settled = parts_.gangs.settled();
  const bool over = std::any_of(settled.begin(), settled.end(), IsRanked);
  Task* driver = run_.tasks.Find({kDriverType, 0});
  if (!over || driver == nullptr) return;
  if (!parts_.gangs.Settle(kDriverType) || driver->over()) return;
  run_.tasks.SetGang(*driver, 0);
  parts_.record.ChangeTask(*driver, TaskState::kStopped, "all processes have ended well");
  if (driver->attached()) parts_.executors.Dismiss(*driver, GangScheduler::kStageOver);
}

std::optional<Verdict> HorovodRanks::NameClash(int number) const {
  // Only Horovod compares the boot ids: other frameworks use addresses alone, and a container may
  // be a virtual machine with a boot id of its own.
  std::map<std::string, const Task*> first;  // by host name
  for (const Task& task : run_.tasks.all()) {
    const bool runs = task.gang == number || (task.listed && !task.over());
    if (!runs || !task.container || task.boot_id.empty()) continue;
    const auto [other, is_first] = first.try_emplace(task.container->host, &task);
    if (is_first || other->second->boot_id == task.boot_id) continue;
    Verdict verdict;
    verdict.reason = Reason::kBackendFailed;
    verdict.guilty = task.id;
    verdict.sentence = absl::StrCat(
        "Two machines have the name ", task.container->host, ", on which ",
        other->second->id.ToString(), " and ", task.id.ToString(),
        " are, so the tasks could not find each other; give each machine a name of its own");
    return verdict;
  }
  return std::nullopt;
}

bool HorovodRanks::AwaitsPlan(const Task& task) const {
  return IsRanked(task.id.type) && run_.plan == nullptr;
}

void HorovodRanks::OnPlanned(Task& driver, const input::RanksPlanned& planned) {
  if (!run_.IsCurrent(&driver, planned) || IsRepeated(driver) || run_.verdict) return;
  if (driver.id.type != kDriverType || driver.over()) return;
  if (!planned.trouble.empty()) return FailDriver(driver, planned.trouble);
  Accept(driver, planned.plan);
}

void HorovodRanks::Accept(Task& driver, const RendezvousPlan& plan) {
  const absl::Status fits = CheckPlan(plan, WorkerHostsOf(*run_.spec));
  if (!fits.ok()) return FailDriver(driver, std::string(fits.message()));
  run_.plan = std::make_shared<const RendezvousPlan>(plan);
  run_.Note(decision::PlanAccepted{run_.epoch, plan});
  StartPlanned();
  if (std::exchange(planning_recorded_, false))
    parts_.record.RecordContinues("The driver has said who has which rank");
}

void HorovodRanks::StartPlanned() {
  std::vector<std::string> container_ids;
  for (const Task& task : run_.tasks.all()) {
    const bool waits = IsRanked(task.id.type) && task.listed && task.gang == 0 &&
                       task.state == TaskState::kReady && task.started_attempt != task.attempt;
    // A task that must attach again reports then whether it was told to start.
    if (waits && task.attached() && !AwaitsPlan(task)) container_ids.push_back(task.container->id);
  }
  if (!container_ids.empty()) parts_.executors.SendStart(std::move(container_ids));
}

void HorovodRanks::OnPlanReplayed(const decision::PlanAccepted& accepted) {
  run_.plan = std::make_shared<const RendezvousPlan>(accepted.plan);
}

void HorovodRanks::OnWait(Task& driver, const input::RendezvousWait& wait) {
  if (!run_.IsCurrent(&driver, wait) || driver.id.type != kDriverType || run_.verdict ||
      driver.over()) {
    return;
  }
  // The same report may come again; only a change is recorded.
  if (std::exchange(rendezvous_wait_, wait.wait) == wait.wait) return;
  rendezvous_wait_since_ = run_.now;
  if (wait.wait.sentence == kNobodyCame) return;  // there is nobody to wait for: the driver ends
  if (wait.wait.sentence.empty())
    return parts_.record.RecordContinues("All processes have found each other");
  NoteMissingMachines();
}

void HorovodRanks::RecordWait() {
  if (!rendezvous_wait_.sentence.empty() && rendezvous_wait_.sentence != kNobodyCame)
    NoteMissingMachines();
}

std::string HorovodRanks::WaitLimit() const {
  return absl::StrCat(FormatDuration(run_.job.horovod.rendezvous.count()),
                      " after the first one (tony.horovod.rendezvous-timeout-ms)");
}

void HorovodRanks::NoteMissingMachines() {
  std::vector<std::string> missing = rendezvous_wait_.missing;
  if (missing.size() > kMostTaskNames) {
    missing.resize(kMostTaskNames);
    missing.push_back(
        absl::StrCat("and ", rendezvous_wait_.missing.size() - kMostTaskNames, " more"));
  }
  run_.Do(effect::Record{
      JobWaiting{absl::StrCat(rendezvous_wait_.sentence, DescribeEndedUnmet()), std::move(missing),
                 absl::StrCat("they come by themselves, or the job fails ", WaitLimit(),
                              "; `tony logs` shows what they are at")}});
}

std::vector<const Task*> HorovodRanks::EndedUnmet() const {
  const std::vector<std::string>& missing = rendezvous_wait_.missing;
  std::vector<const Task*> ended;
  if (missing.empty()) return ended;
  // A rank that exited with code 0 while others still wait for it will never come.
  for (const Task& task : run_.tasks.all()) {
    if (task.state != TaskState::kSucceeded || !IsRanked(task.id.type)) continue;
    const auto found = std::find(missing.begin(), missing.end(), task.id.ToString());
    if (found != missing.end()) ended.push_back(&task);
  }
  return ended;
}

std::string HorovodRanks::DescribeEndedUnmet() const {
  const std::vector<const Task*> ended = EndedUnmet();
  if (ended.empty()) return "";
  const std::string first = WithRank(
      *ended.front(), absl::StrCat(ended.front()->id.ToString(), " has ended with code 0"));
  return absl::StrCat(
      "; ", first, " without joining the others",
      ended.size() == 1 ? "" : absl::StrCat(", as have ", ended.size() - 1, " more"));
}

void HorovodRanks::CheckRendezvous() {
  const Task* const driver = run_.tasks.Find({kDriverType, 0});
  // A driver that must attach again may have a newer report.
  if (driver == nullptr || !driver->attached() || run_.judge_at || run_.state != JobState::kRunning)
    return;
  for (const Task* task : EndedUnmet()) {
    // The patience runs from the later of the end and the report: an older report may not know the
    // end yet.
    if (run_.now - std::max(task->since, rendezvous_wait_since_) < kUnmetPatience) continue;
    Verdict failure = SuccessPolicy::FailureOf(*task);
    failure.sentence = absl::StrCat(WithRank(*task, std::move(failure.sentence)),
                                    " without joining the others: ", rendezvous_wait_.sentence);
    return parts_.judge.OnFailure(*task, failure);
  }
}

Task* HorovodRanks::PlanningDriver() {
  if (run_.verdict || run_.plan != nullptr) return nullptr;
  Task* driver = run_.tasks.Find({kDriverType, 0});
  return driver != nullptr && driver->listed && !driver->over() ? driver : nullptr;
}

void HorovodRanks::CheckPlanning() {
  Task* driver = PlanningDriver();
  // A driver that must attach again may have sent the plan already.
  if (driver == nullptr || !driver->attached() || !run_.running_since) return;
  // After a restart of the ApplicationMaster the driver gets the full time to repeat its plan.
  const Duration waited = run_.now - std::max(*run_.running_since, run_.state_since);
  if (waited >= run_.job.horovod.driver_start) {
    return FailDriver(*driver, absl::StrCat("it did not say within ",
                                            FormatDuration(run_.job.horovod.driver_start.count()),
                                            " who has which rank "
                                            "(tony.horovod.driver.start-timeout-ms)"));
  }
  if (waited < run_.job.timeouts.waiting_notice || std::exchange(planning_recorded_, true)) return;
  run_.Do(effect::Record{JobWaiting{"nobody starts before the driver has said who has which rank",
                                    {driver->id.ToString()},
                                    "it comes by itself; `tony logs JOB driver` says more"}});
}

void HorovodRanks::OnEpochOpened() {
  ForgetWait();
  planning_recorded_ = false;
}

bool HorovodRanks::IsDriver(const Task& task) { return task.id.type == kDriverType; }

bool HorovodRanks::FailIfNeeded(Task& task) {
  // A driver may end well only when all ranks are planned: the ranks would wait for ever.
  if (&task != PlanningDriver()) return false;
  FailDriver(task, "it ended before it said who has which rank");
  return true;
}

TaskExit HorovodRanks::ExitOf(const Task& task, const TaskExit& exit) const {
  return IsDriver(task) ? DriverExit(exit) : exit;
}

TaskExit HorovodRanks::DriverExit(const TaskExit& exit) const {
  // A signal never comes from the job's program, so a signalled tony-driver is charged to the
  // infrastructure's budget. A user's own driver is a program like any other.
  TaskExit told = exit;
  if (exit.cause == TaskExit::Cause::kSignaled && !run_.job.horovod.own_driver) {
    told.cause = TaskExit::Cause::kLost;
    told.message =
        absl::StrCat("tony-driver ", exit.Describe(), ", in which the job's program has no part");
  } else if (exit.cause == TaskExit::Cause::kExited && !exit.ok() && exit.message.empty()) {
    // An exit of its own is about the wait that it reported last; a signal is not.
    told.message = absl::StrCat(rendezvous_wait_.sentence, DescribeEndedUnmet());
    if (!LastLoss().empty()) {
      absl::StrAppend(&told.message, told.message.empty() ? "" : "; ",
                      "the last process that was lost: ", LastLoss());
    }
  }
  return told;
}

void HorovodRanks::FailDriver(Task& driver, const std::string& why) {
  driver.exit = TaskExit{.cause = TaskExit::Cause::kNotStarted, .message = why};
  parts_.judge.OnTaskFailed(driver, SuccessPolicy::FailureOf(driver));
}

Verdict HorovodRanks::FailureOf(const Task& task) const {
  Verdict failure = SuccessPolicy::FailureOf(task);
  // The driver's exit blames the ranks only if it gave up on exactly the wait that it reported. A
  // rank that ended well is guilty before one that is merely late.
  const RendezvousWait& wait = rendezvous_wait_;
  const bool in_vain = IsDriver(task) && !run_.job.horovod.own_driver && !wait.missing.empty() &&
                       task.exit->cause == TaskExit::Cause::kExited &&
                       absl::StartsWith(task.exit->message, wait.sentence);
  if (!in_vain) return failure;
  const std::vector<const Task*> ended = EndedUnmet();
  for (const Task& other : run_.tasks.all()) {
    const bool first = other.id.ToString() == wait.missing.front();
    if (ended.empty() ? !first : &other != ended.front()) continue;
    failure.guilty = other.id;
    failure.exit = other.exit;
    failure.sentence = task.exit->message;
  }
  return failure;
}

absl::StatusOr<Slot> HorovodRanks::TaskSlot(const Task& task) const {
  if (run_.plan == nullptr || run_.spec == nullptr || !IsRanked(task.id.type)) {
    return absl::NotFoundError("no ranks are known");
  }
  return SlotOf(*run_.plan, WorkerHostsOf(*run_.spec), task.id);
}

std::string HorovodRanks::WithRank(const Task& task, std::string sentence) const {
  const absl::StatusOr<Slot> slot = TaskSlot(task);
  const std::string name = task.id.ToString();
  if (!slot.ok() || sentence.rfind(name + " ", 0) != 0) return sentence;
  return sentence.replace(0, name.size(), NameOfRank(name, *slot));
}

}  // namespace tony::core
