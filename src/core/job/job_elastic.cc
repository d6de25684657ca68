// Elastic Horovod jobs in JobMachine: each lost worker is restarted alone under exponential backoff
// per host, and joins in a later round; the attempt goes on.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/job/job_machine.h"
#include "core/record/duration_text.h"

namespace tony::core {
const ElasticSettings* JobMachine::Elastic() const {
  const bool elastic = job_.framework == Framework::kHorovod && job_.horovod.elastic.has_value();
  return elastic ? &*job_.horovod.elastic : nullptr;
}

bool JobMachine::IsElastic(const Task& task) const {
  return Elastic() != nullptr && task.id.type == kElasticType;
}

bool JobMachine::JoinsLater(const Task& task) const {
  return IsElastic(task) && task.id.index >= Elastic()->first && !task.container;
}

bool JobMachine::GoesOnWithout(const Task& task) const {
  if (!IsElastic(task) || plan_ == nullptr || finished_ || verdict_) return false;
  // Without a driver no further round begins, so the worker would wait for ever.
  const Task* driver = tasks_.Find({kDriverType, 0});
  return driver != nullptr && !driver->over();
}

bool JobMachine::TakesPart(const Task& task) const {
  if (task.state == TaskState::kRunning) return true;
  // A replayed journal leaves every running program in this state, since a start is no decision.
  return task.state == TaskState::kReady && task.gang == 0 && task.listed && !AwaitsPlan(task);
}

const Task* JobMachine::WaitsForRound() const {
  for (const Task& task : tasks_.all()) {
    if (IsElastic(task) && !finished_ && !task.over() && !TakesPart(task)) return &task;
  }
  return nullptr;
}

std::vector<ElasticMember> JobMachine::Members() const {
  std::vector<ElasticMember> members;
  // A member is a worker that is registered and gathered by no gang; the driver may give it a rank.
  for (const Task& task : tasks_.all()) {
    const bool there = task.state == TaskState::kReady || task.state == TaskState::kRunning;
    if (!IsElastic(task) || !there || task.gang != 0 || !task.container || task.killed) continue;
    members.push_back({MemberName(task.id, task.attempt), HostNameOf(EndpointOf(task))});
  }
  return members;
}

void JobMachine::ForgetTold() {
  told_members_.reset();
  members_changed_ = true;
}

void JobMachine::TellMembers() {
  if (!members_changed_ || Elastic() == nullptr || verdict_) return;
  const Task* driver = tasks_.Find({kDriverType, 0});
  if (driver == nullptr || !driver->attached || driver->state != TaskState::kRunning) return;
  members_changed_ = false;
  // The driver is told only of changes: most inputs that set members_changed_ leave the list alone.
  effect::SendMembers message{driver->container->id, epoch_, driver->attempt, Members(), finished_};
  if (told_members_ && told_members_->members == message.members &&
      told_members_->finished == finished_) {
    return;
  }
  told_members_ = message;
  Do(std::move(message));
}

void JobMachine::AcceptRound(Task& driver, const RendezvousPlan& plan) {
  if (plan_ != nullptr && plan.round <= plan_->round) return;
  const absl::Status fits = CheckElasticPlan(plan);
  if (!fits.ok()) return FailDriver(driver, std::string(fits.message()));
  const bool first = plan_ == nullptr;
  plan_ = std::make_shared<const RendezvousPlan>(plan);
  rendezvous_wait_ = {};  // the last report was about the previous round
  Note(decision::PlanAccepted{epoch_, plan});
  StartPlanned();
  SayGoesOn(absl::StrCat("Round ", plan.round, ": ", plan.slots.size(),
                         plan.slots.size() == 1 ? " process" : " processes"));
  if (first) InviteOthers();
}

void JobMachine::InviteOthers() {
  // Workers requested in the last epoch may be there already; they join, too.
  for (Task& task : tasks_.all()) {
    const bool waits = task.gang == 0 && !task.listed && !task.over();
    if (IsElastic(task) && waits) FormGang({&task}, Duration(0));
  }
  ReleaseGangs();
}

void JobMachine::LoseElastic(Task& task, const Verdict& failure) {
  last_loss_ = failure.sentence;
  ChangeTask(task, TaskState::kFailed, task.exit->Describe());
  decision::TasksRestarted restarted;
  restarted.epoch = epoch_;
  restarted.tasks = {task.id};
  restarted.cause = failure.sentence;
  restarted.guilty = task.id;
  restarted.budgets = restarts_.state();
  restarted.delay = Cooldown(task);
  restarted.container_lost = !task.container || task.killed;
  RestartElastic(task, restarted);
}

Duration JobMachine::Cooldown(const Task& task) {
  const ElasticSettings& elastic = *Elastic();
  Duration delay = elastic.cooldown;
  // Cooldown keeps a failing host out. A host whose container is lost is gone anyway.
  if (!task.container) return Duration(0);
  int& failures = failures_on_[task.container->host_id];
  for (int i = 0; i < failures && delay < elastic.cooldown_max; ++i) delay *= 2;
  ++failures;
  return std::min<Duration>(delay, elastic.cooldown_max);
}

void JobMachine::RestartElastic(Task& task, const decision::TasksRestarted& restarted) {
  // The journal entry makes a later ApplicationMaster count the same attempt; it fences messages of
  // the lost run.
  Note(restarted);
  const bool kept = !restarted.container_lost;
  Do(effect::Record{JobNote{absl::StrCat(
      restarted.cause, ": the others go on; ", task.id.ToString(), " starts again ",
      kept && restarted.delay > Duration(0)
          ? absl::StrCat("in ", FormatDuration(restarted.delay / std::chrono::milliseconds(1)))
      : kept ? "at once"
             : "when there is another container")}});
  task.exit.reset();
  task.stranger.clear();
  task.waiting_since = now_;
  ++task.attempt;
  tasks_.SetListed(task, kept);
  // The end of a killed container brings its replacement.
  if (task.container) task.kept = true;
  if (task.container && !kept && !std::exchange(task.killed, true)) task.killed_at = now_;
  ChangeTask(task, task.container ? TaskState::kStarting : TaskState::kNew);
  if (kept && task.attached) {
    Do(effect::SendPrepare{task.container->id, epoch_, task.attempt, /*keep_ports=*/true});
  }
  FormGang({&task}, restarted.delay);
}

void JobMachine::LetWaitingGo() {
  if (Elastic() == nullptr || std::exchange(finished_, true)) return;
  bool asked = false;
  for (Task& task : tasks_.all()) {
    if (!IsElastic(task) || task.over() || TakesPart(task)) continue;
    asked = asked || task.asked;
    tasks_.SetGang(task, 0);
    ChangeTask(task, TaskState::kStopped, "a process has ended well, so nobody joins any more");
    if (task.container && task.attached) Dismiss(task, "the job is coming to its end");
  }
  if (!asked) return;
  tasks_.ForgetAsked();
  Do(effect::CancelRequests{});
}

}  // namespace tony::core
