// Elastic Horovod jobs in JobMachine: the loss of a process does not end the attempt, and what
// comes later may join.
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
  // Without a driver the worker would wait for another round for ever.
  const Task* driver = tasks_.Find({kDriverType, 0});
  return driver != nullptr && !driver->over();
}

bool JobMachine::TakesPart(const Task& task) const {
  if (task.state == TaskState::kRunning) return true;
  // When a journal is replayed every program that runs is in this state: its start is no decision.
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
  rendezvous_wait_ = {};  // it was about the last round
  Note(decision::PlanAccepted{epoch_, plan});
  StartPlanned();
  SayGoesOn(absl::StrCat("Round ", plan.round, ": ", plan.slots.size(),
                         plan.slots.size() == 1 ? " process" : " processes"));
  if (first) InviteOthers();
}

void JobMachine::InviteOthers() {
  // Some may have been asked for in the last epoch, and be there already.
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
  // A host whose container is lost is not there to be excluded.
  if (!task.container) return Duration(0);
  int& failures = failures_on_[task.container->host_id];
  for (int i = 0; i < failures && delay < elastic.cooldown_max; ++i) delay *= 2;
  ++failures;
  return std::min<Duration>(delay, elastic.cooldown_max);
}

void JobMachine::RestartElastic(Task& task, const decision::TasksRestarted& restarted) {
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
  // The end of what is killed brings the replacement.
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
