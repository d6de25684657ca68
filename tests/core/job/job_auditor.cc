// The checks of JobAuditor, one function per kind of input or effect.
#include "tests/core/job/job_auditor.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tests/core/job/job_rendering.h"

namespace tony::core {
namespace {

bool IsEdge(JobState from, JobState to) {
  for (JobTrigger trigger :
       {JobTrigger::kStart, JobTrigger::kGangGranted, JobTrigger::kGangRegistered,
        JobTrigger::kAttemptFailed, JobTrigger::kVerdict, JobTrigger::kAllGone}) {
    if (NextState(from, trigger) == to) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> JobAuditor::Check(const JobInput& input, const JobEffects& effects,
                                           bool complete) {
  violations_.clear();
  // All that a stranger gets is the word to go.
  const bool only_shutdown = std::all_of(
      effects.begin(), effects.end(),
      [](const JobEffect& effect) { return std::holds_alternative<effect::SendShutdown>(effect); });
  if (IsStale(input) && !only_shutdown) Complain("a stale message had an effect");
  std::visit([this](const auto& kind) { See(kind); }, input);
  for (const JobEffect& effect : effects) {
    const size_t before = violations_.size();
    std::visit([this](const auto& kind) { Check(kind); }, effect);
    for (size_t i = before; i < violations_.size(); ++i) {
      absl::StrAppend(&violations_[i], ", at: ", RenderEffect(effect));
    }
  }
  if (complete) CheckTable();
  return violations_;
}

bool JobAuditor::IsLive(const std::string& container_id) const {
  const auto known = launched_.find(container_id);
  return known != launched_.end() && !known->second.gone;
}

bool JobAuditor::IsStale(const JobInput& input) const {
  const auto stale = [&](const auto& message) {
    return message.epoch != epoch_ || !IsLive(message.container_id);
  };
  const auto past = [&](const auto& message) {
    return stale(message) || launched_.at(message.container_id).attempt != message.attempt;
  };
  if (const auto* registered = std::get_if<input::ExecutorRegistered>(&input))
    return past(*registered);
  if (const auto* started = std::get_if<input::TaskStarted>(&input)) return past(*started);
  if (const auto* ended = std::get_if<input::TaskEnded>(&input)) return past(*ended);
  if (const auto* taken = std::get_if<input::PortTaken>(&input)) return stale(*taken);
  if (const auto* heartbeat = std::get_if<input::Heartbeat>(&input))
    return !IsLive(heartbeat->container_id);
  return false;
}

void JobAuditor::See(const input::ContainerEnded& ended) {
  gone_.insert(ended.container_id);
  auto known = launched_.find(ended.container_id);
  if (known != launched_.end()) known->second.gone = true;
}

void JobAuditor::See(const input::ExecutorAttached& attached) {
  auto known = launched_.find(attached.container_id);
  if (known == launched_.end() || known->second.gone) return;
  known->second.attached = true;
  known->second.rejoined = attached.held.has_value();
  if (!attached.held || attached.held->epoch != epoch_) return;
  if (attached.held->phase == input::HeldTask::Phase::kPreparing) return;
  known->second.registered_epoch = epoch_;
  known->second.port = attached.held->port;
}

void JobAuditor::See(const input::ExecutorRegistered& registered) {
  auto known = launched_.find(registered.container_id);
  if (known == launched_.end() || known->second.gone || registered.epoch != epoch_) return;
  if (known->second.attempt != registered.attempt) return;
  // The first registration for an epoch counts; others of it are copies, or have the same port.
  if (known->second.registered_epoch == registered.epoch) return;
  known->second.registered_epoch = registered.epoch;
  known->second.port = registered.port;
}

void JobAuditor::Restarted(const JobMachine& machine) {
  machine_ = &machine;
  state_ = machine.state();
  if (machine.epoch() < epoch_) Complain("an epoch was forgotten");
  epoch_ = machine.epoch();
  awaited_.clear();
  paused_.clear();
  for (const Task& task : machine.tasks().all()) {
    if (!task.container || launched_.count(task.container->id) > 0) continue;
    // Bound, but the ApplicationMaster was lost before the launch.
    launched_.emplace(task.container->id, Known{task.id});
  }
  for (auto& [id, known] : launched_) known.rejoined = false;
  // Containers that were granted and not launched have gone with the ApplicationMaster.
  for (const std::string& container : granted_) {
    if (launched_.count(container) == 0) gone_.insert(container);
  }
}

void JobAuditor::Check(const effect::Journal& effect) {
  for (const Decision& decision : effect.decisions) {
    if (const auto* bound = std::get_if<decision::ContainerBound>(&decision)) {
      journaled_containers_.insert(bound->container.id);
    } else if (const auto* released = std::get_if<decision::GangReleased>(&decision)) {
      for (const Endpoint& endpoint : released->spec->endpoints) {
        released_[endpoint.task] = released->epoch;
      }
    } else if (const auto* accepted = std::get_if<decision::PlanAccepted>(&decision)) {
      planned_epoch_ = accepted->epoch;
    } else if (const auto* stopped = std::get_if<decision::TrackingStopped>(&decision)) {
      untracked_.insert(stopped->type);
    } else if (const auto* restarted = std::get_if<decision::TasksRestarted>(&decision)) {
      journaled_epoch_ = restarted->epoch;
      const JobDescription& job = machine_->job();
      ++restarts_;
      if (restarted->budgets.user > job.retry_count ||
          restarted->budgets.infrastructure > job.infrastructure_retry_count ||
          restarted->budgets.lost_port > RestartPolicy::kLostPortRestarts) {
        Complain("the budget is not respected");
      }
    } else if (std::holds_alternative<decision::VerdictReached>(decision)) {
      journaled_verdict_ = true;
    }
  }
}

void JobAuditor::Check(const effect::ReclaimContainers& effect) {
  for (const Container& container : effect.containers) {
    if (!IsLive(container.id)) granted_.insert(container.id);
  }
}

void JobAuditor::Check(const effect::RequestContainers& effect) {
  for (const ContainerRequest& request : effect.requests) {
    if (request.count <= 0) Complain("a request for no container");
    awaited_[request.type] += request.count;
    paused_.erase(request.type);
  }
}

void JobAuditor::Check(const effect::CancelRequests&) {
  awaited_.clear();
  for (const TaskType& type : machine_->job().types) paused_.insert(type.name);
}

void JobAuditor::Check(const effect::LaunchExecutor& effect) {
  if (granted_.count(effect.container_id) == 0)
    Complain("launch in a container that was not granted");
  if (journaled_containers_.count(effect.container_id) == 0) Complain("a launch not journaled");
  if (--awaited_[effect.task.type] < 0) Complain("a container is used that nobody asked for");
  if (!launched_.emplace(effect.container_id, Known{effect.task}).second) {
    Complain("a second launch in one container");
  }
}

void JobAuditor::Check(const effect::AnswerHeartbeat& effect) {
  if (!IsLive(effect.container_id)) Complain("a lease for a container that is gone");
}

void JobAuditor::Check(const effect::SendPrepare& effect) {
  const auto known = launched_.find(effect.container_id);
  if (known == launched_.end() || !known->second.attached)
    Complain("prepare before the executor attached");
  if (effect.epoch > journaled_epoch_) Complain("an epoch not journaled");
  if (known != launched_.end()) known->second.attempt = effect.attempt;
  if (effect.epoch != epoch_) Complain(absl::StrCat("prepare for another epoch than ", epoch_));
}

void JobAuditor::Check(const effect::SendStart& effect) {
  if (effect.epoch != epoch_) Complain(absl::StrCat("start for another epoch than ", epoch_));
  bool first = false;
  for (const std::string& container_id : effect.container_ids) {
    CheckStart(container_id, effect);
    Known& known = launched_[container_id];
    if (!Released(known.task)) Complain("a start not journaled");
    // A second one makes up for one that an executor never got.
    const bool in_epoch = known.started_epoch == effect.epoch;
    if (in_epoch && known.started_attempt == known.attempt && !known.rejoined) {
      Complain("a second start");
    }
    first = first || (!in_epoch && !known.rejoined);
    known.started_epoch = effect.epoch;
    known.started_attempt = known.attempt;
  }
  if (!first) return;
  ++starts_;
  CheckGang(effect);
}

void JobAuditor::CheckGang(const effect::SendStart& effect) {
  std::set<TaskId> members;
  for (const std::string& container_id : effect.container_ids) {
    members.insert(launched_[container_id].task);
  }
  if (machine_->job().mode == DistributedMode::kFirstComeServed) {
    if (members.size() != 1) Complain("tasks that start together, though each could have alone");
    return;
  }
  const std::vector<TaskType>& types = machine_->job().types;
  const bool ordered = machine_->job().framework == Framework::kHorovod ||
                       std::any_of(types.begin(), types.end(),
                                   [](const TaskType& type) { return !type.depends_on.empty(); });
  for (const TaskType& type : types) {
    int there = 0;
    for (int i = 0; i < type.instances; ++i) there += members.contains({type.name, i}) ? 1 : 0;
    if (there == 0 && ordered) continue;
    // Tasks that have to attach again when the plan comes are told then.
    const bool may_be_few = machine_->job().framework == Framework::kHorovod && IsRanked(type.name);
    if (there != type.instances && !may_be_few)
      Complain(absl::StrCat("a start without some of ", type.name));
    if (HasToWait(type.name, false)) Complain(absl::StrCat("a start too early: ", type.name));
  }
}

bool JobAuditor::Succeeded(const std::string& type) const {
  const std::vector<Task>& tasks = machine_->tasks().all();
  return std::all_of(tasks.begin(), tasks.end(), [&type](const Task& task) {
    return task.id.type != type || task.state == TaskState::kSucceeded;
  });
}

bool JobAuditor::Released(const TaskId& task) const {
  const auto found = released_.find(task);
  return found != released_.end() && found->second == epoch_;
}

bool JobAuditor::HasToWait(const std::string& type, bool room) const {
  const JobDescription& job = machine_->job();
  for (const std::string& name : job.FindType(type)->depends_on) {
    const TaskType& needed = *job.FindType(name);
    const bool tracked = needed.tracking == Tracking::kTracked && !untracked_.contains(name);
    bool released = true;
    for (int i = 0; i < needed.instances; ++i) released = released && Released({name, i});
    if (!Succeeded(name) && (tracked || !released)) return true;
    if (!room) continue;
    if (HasToWait(name, room)) return true;
    for (const Task& task : machine_->tasks().all()) {
      if (tracked && task.id.type == name && task.container) return true;
    }
  }
  return false;
}

void JobAuditor::Check(const effect::SendMembers& effect) {
  if (!IsLive(effect.container_id)) Complain("members for a driver that is gone");
  for (const ElasticMember& member : effect.members) told_members_.insert(member.name);
}

void JobAuditor::CheckStart(const std::string& container_id, const effect::SendStart& effect) {
  const auto found = launched_.find(container_id);
  if (found == launched_.end() || found->second.gone) {
    Complain(absl::StrCat("start of a container that is gone: ", container_id));
    return;
  }
  const Known& known = found->second;
  if (known.registered_epoch != effect.epoch) {
    Complain(absl::StrCat("start before ", container_id, " has registered"));
  }
  const Endpoint* endpoint = effect.spec->Find(known.task);
  if (endpoint == nullptr || endpoint->port != known.port) {
    Complain(absl::StrCat("the spec has a wrong endpoint for ", known.task.ToString()));
  }
  if (machine_->job().framework != Framework::kHorovod || !IsRanked(known.task.type)) return;
  if (effect.plan == nullptr || planned_epoch_ != epoch_) {
    return Complain(absl::StrCat("a start without a plan: ", known.task.ToString()));
  }
  const std::string member = MemberName(known.task, known.attempt);
  const bool elastic = machine_->job().horovod.elastic.has_value();
  const auto slot = elastic ? SlotOf(*effect.plan, member)
                            : SlotOf(*effect.plan, WorkerHostsOf(*effect.spec), known.task);
  if (!slot.ok()) Complain(absl::StrCat("a start without a rank: ", known.task.ToString()));
  if (elastic && !told_members_.contains(member)) Complain("a start of what nobody told of");
}

void JobAuditor::Check(const effect::KillContainer& effect) {
  gone_.insert(effect.container_id);
  auto known = launched_.find(effect.container_id);
  if (known != launched_.end()) known->second.gone = true;
}

void JobAuditor::Check(const effect::Record& effect) {
  if (ended_) Complain("a record after JobEnded");
  if (const auto* changed = std::get_if<JobStateChanged>(&effect.body)) {
    if (state_ != changed->state && !IsEdge(state_, changed->state))
      Complain(absl::StrCat("no edge from ", JobStateName(state_)));
    state_ = changed->state;
  }
  if (const auto* opened = std::get_if<EpochOpened>(&effect.body)) {
    if (opened->epoch != epoch_ + 1) Complain("an epoch was skipped");
    epoch_ = opened->epoch;
    if (opened->retries_left < 0 || opened->infrastructure_retries_left < 0) {
      Complain("the budget is overdrawn");
    }
  }
  if (std::holds_alternative<JobEnded>(effect.body)) {
    ended_ = true;
    if (state_ != JobState::kEnded) Complain("JobEnded before the state");
  }
}

void JobAuditor::Check(const effect::Finish&) {
  if (!ended_) Complain("finish before JobEnded");
  if (!journaled_verdict_) Complain("a verdict not journaled");
  if (finished_) Complain("a second finish");
  finished_ = true;
}

void JobAuditor::CheckTable() {
  if (machine_->state() != state_) Complain("a state was entered that was not recorded");
  if (machine_->epoch() != epoch_) Complain("an epoch was opened that was not recorded");
  std::set<std::string> bound;
  std::map<std::string, int> unbound;
  std::map<TaskState, int> counts;
  for (const Task& task : machine_->tasks().all()) {
    ++counts[task.state];
    if (task.container && !bound.insert(task.container->id).second) {
      Complain(absl::StrCat(task.container->id, " is bound to two tasks"));
    }
    if (task.container && machine_->tasks().FindByContainer(task.container->id) != &task) {
      Complain(absl::StrCat(task.container->id, " is not found to be of ", task.id.ToString()));
    }
    const std::optional<ElasticSettings>& elastic = machine_->job().horovod.elastic;
    const bool joins_later = elastic && task.id.type == "worker" &&
                             task.id.index >= elastic->first && planned_epoch_ != epoch_ &&
                             !task.asked();
    const bool awaits = !task.container && task.state == TaskState::kNew && !joins_later;
    if (awaits) ++unbound[task.id.type];
    if (task.state == TaskState::kFailed && !task.exit) Complain("a failure without an exit");
  }
  for (const auto& [state, count] : counts) {
    if (machine_->tasks().count(state) != count)
      Complain(absl::StrCat("wrong count of ", TaskStateName(state)));
  }
  if (state_ == JobState::kNew || machine_->verdict()) return;
  for (const TaskType& type : machine_->job().types) {
    if (awaited_[type.name] == unbound[type.name]) continue;
    const bool waits = paused_.contains(type.name) || HasToWait(type.name, true);
    if (awaited_[type.name] == 0 && waits) continue;
    Complain(absl::StrCat(awaited_[type.name], " containers are asked for, ", unbound[type.name],
                          " tasks wait for one: ", type.name));
  }
}

std::vector<std::string> JobAuditor::CheckEnd() const {
  std::vector<std::string> violations;
  if (!ended_) violations.push_back("JobEnded is missing");
  if (!finished_) violations.push_back("Finish is missing");
  for (const std::string& container : granted_) {
    if (gone_.count(container) == 0)
      violations.push_back(container + " was neither ended nor killed");
  }
  return violations;
}

}  // namespace tony::core
