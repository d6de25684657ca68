// The events of a JobWorld, and how often they happen.
#include "tests/core/job/job_world.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/model/lease.h"
#include "tests/core/job/job_rendering.h"

namespace tony::core {
namespace {

using std::chrono::milliseconds;

/// A chain, a diamond, or whatever the dice say: each type may depend on those before it in some
/// order.
void AddOrder(Dice& dice, JobDescription& job) {
  std::vector<size_t> order;
  for (size_t i = 0; i < job.types.size(); ++i) {
    order.insert(order.begin() + dice.Roll(static_cast<int>(i) + 1), i);
  }
  for (size_t i = 1; i < order.size(); ++i) {
    for (size_t earlier = 0; earlier < i; ++earlier) {
      if (dice.OneIn(3)) {
        job.types[order[i]].depends_on.push_back(job.types[order[earlier]].name);
      }
    }
  }
}

void AddLimit(Dice& dice, JobDescription& job) {
  const int types = static_cast<int>(job.types.size());
  const int type = dice.Roll(types);
  const int other = dice.Roll(types);
  if (type == other) return;
  job.dependency_timeouts.push_back({job.types[static_cast<size_t>(type)].name,
                                     "A",
                                     {job.types[static_cast<size_t>(other)].name},
                                     milliseconds(dice.Roll(60000)),
                                     dice.OneIn(2)});
}

JobDescription RandomJob(Dice& dice, JobWorld::Mishaps mishaps) {
  JobDescription job;
  const auto add = [&](const std::string& name, int instances, Tracking tracking) {
    TaskType type;
    type.name = name;
    type.instances = instances;
    type.tracking = tracking;
    type.stop_on_failure = dice.OneIn(8);
    if (dice.OneIn(3)) type.restart_scope = RestartScope::kTask;
    if (dice.OneIn(6)) type.restart_scope = RestartScope::kType;
    job.types.push_back(std::move(type));
  };
  if (dice.OneIn(3)) add("chief", 1, Tracking::kTracked);
  add("worker", 1 + dice.Roll(4), Tracking::kTracked);
  if (dice.OneIn(2)) add("ps", 1 + dice.Roll(2), Tracking::kUntracked);
  if (dice.OneIn(3)) add("tensorboard", 1, Tracking::kSidecar);
  if (dice.OneIn(4)) {
    job.framework = Framework::kHorovod;
    add(kDriverType, 1, Tracking::kUntracked);
    for (TaskType& type : job.types) {
      if (type.name == kDriverType || IsRanked(type.name)) type.restart_scope = RestartScope::kJob;
    }
    if (mishaps == JobWorld::Mishaps::kAll && job.FindType("chief") == nullptr && dice.OneIn(2)) {
      ElasticSettings& elastic = job.horovod.elastic.emplace();
      const int most = job.FindType("worker")->instances;
      elastic.first = 1 + dice.Roll(most);
      elastic.least = 1 + dice.Roll(elastic.first);
    }
  } else if (dice.OneIn(2)) {
    if (!dice.OneIn(3)) add("prep", 1 + dice.Roll(2), Tracking::kTracked);
    if (dice.OneIn(2)) add("evaluator", 1, Tracking::kTracked);
    AddOrder(dice, job);
  }
  if (job.framework != Framework::kHorovod && dice.OneIn(4)) {
    job.mode = DistributedMode::kFirstComeServed;
  }
  job.fail_on_worker_failure = !dice.OneIn(3);
  job.retry_count = dice.Roll(5);
  job.infrastructure_retry_count = dice.Roll(4);
  if (dice.OneIn(2)) job.retry_backoff = milliseconds(0);
  job.timeouts.max_missed_heartbeats = 3;
  if (dice.OneIn(2)) job.timeouts.container_kill = milliseconds(dice.Roll(10000));
  if (mishaps == JobWorld::Mishaps::kMasters) {
    job.retry_count = 0;
    job.timeouts.reattach = std::chrono::hours(1);
    job.timeouts.max_missed_heartbeats = 1000;
    job.horovod.driver_start = std::chrono::hours(1);
    return job;
  }
  for (int i = 0; i < 2; ++i) {
    if (dice.OneIn(3)) AddLimit(dice, job);
  }
  if (dice.OneIn(3)) job.timeouts.application = milliseconds(1000 + dice.Roll(600000));
  if (dice.OneIn(3)) job.timeouts.allocation = milliseconds(1000 + dice.Roll(30000));
  if (dice.OneIn(3)) job.timeouts.gang_hold = milliseconds(500 + dice.Roll(5000));
  if (!dice.OneIn(3)) job.timeouts.registration = milliseconds(1000 + dice.Roll(60000));
  return job;
}

}  // namespace

int Dice::Roll(int sides) {
  // Knuth's MMIX constants; the low bits of such a generator are poor, so the high ones are used.
  state_ = state_ * 6364136223846793005u + 1442695040888963407u;
  return static_cast<int>((state_ >> 33) % static_cast<uint64_t>(sides));
}

JobWorld::JobWorld(uint64_t seed, Mishaps mishaps)
    : dice_(seed),
      mishaps_(mishaps),
      job_(RandomJob(dice_, mishaps)),
      machine_(std::make_unique<JobMachine>(job_)),
      auditor_(*machine_),
      backend_(*this) {
  if (mishaps_ == Mishaps::kAll && dice_.OneIn(20)) Apply(input::StopRequested{});
  Apply(input::Start{});
}

void JobWorld::Step(bool calm) {
  const int what = dice_.Roll(100);
  if (what < 15) return BackendStep(calm);
  if (what < 25) return PassTime();
  if (what < 30) return Misdirect();
  if (!calm && what == 31 && dice_.OneIn(4)) return LoseMaster();
  if (!calm && what == 32 && dice_.OneIn(4)) lose_master_ = true;
  if (!calm && what == 30 && dice_.OneIn(20) && mishaps_ == Mishaps::kAll)
    return Apply(input::StopRequested{});
  if (executors_.empty()) return;
  auto picked = executors_.begin();
  std::advance(picked, dice_.Roll(static_cast<int>(executors_.size())));
  const std::string id = picked->first;  // the executor may be gone after the step
  ExecutorStep(id, picked->second, calm);
}

void JobWorld::BackendStep(bool calm) {
  // The end of a killed container may take any time, but comes.
  for (const auto& [id, executor] : executors_) {
    if (!backend_.killed(id) || dice_.OneIn(3)) continue;
    backend_.End(std::string(id), {true, "killed", !dice_.OneIn(4)});
    return;
  }
  if (dice_.OneIn(2) && backend_.EndReclaimed()) return;
  const std::vector<std::string> pending = backend_.pending();
  if (!calm && mishaps_ == Mishaps::kAll && dice_.OneIn(200)) {
    backend_.Refuse(dice_.OneIn(2), "refused");
  } else if (!pending.empty() && dice_.OneIn(10)) {
    backend_.Wait("the cluster is full", "the end of another job");
  } else if (!pending.empty()) {
    backend_.Grant(pending[static_cast<size_t>(dice_.Roll(static_cast<int>(pending.size())))]);
  } else if (!calm && mishaps_ == Mishaps::kAll && dice_.OneIn(30)) {
    backend_.GrantUnasked(machine_->job().types.front().name);
  }
}

void JobWorld::ExecutorStep(const std::string& id, Executor& executor, bool calm) {
  if (backend_.killed(id)) return;
  if (executor.hangs) {
    if (calm) backend_.End(id, {true, "the node was switched off"});
    return;
  }
  if (!calm && dice_.OneIn(60)) return Disturb(id, executor);
  // An executor whose task is over need not be there any more.
  const Task* task = machine_->tasks().FindByContainer(id);
  if (task != nullptr && task->over() && dice_.OneIn(20)) {
    return static_cast<void>(backend_.End(id, {true, "the node went away"}));
  }
  if (!executor.attached) {
    executor.attached = true;
    executor.outbox.push_back(Hello(id, executor));
    SayPlan(id, executor);
  } else if (!executor.outbox.empty() && !dice_.OneIn(3)) {
    const JobInput message = executor.outbox.front();
    executor.outbox.pop_front();
    if (std::holds_alternative<input::ExecutorAttached>(message)) executor.heard = true;
    past_.push_back(message);
    Apply(message);
  } else if (!executor.inbox.empty()) {
    const JobEffect effect = executor.inbox.front();
    executor.inbox.pop_front();
    Obey(id, executor, effect);
  } else if (executor.preparing && dice_.OneIn(2)) {
    executor.preparing = false;
    if (!executor.keep_ports) executor.port = next_port_++;
    executor.outbox.push_back(
        input::ExecutorRegistered{id, executor.epoch, executor.attempt, executor.port, 0});
  } else if (executor.running) {
    RunProgram(id, executor, calm);
  }
}

void JobWorld::Obey(const std::string& id, Executor& executor, const JobEffect& effect) {
  if (std::holds_alternative<effect::SendAssignment>(effect)) {
    executor.assigned = true;
  } else if (const auto* prepare = std::get_if<effect::SendPrepare>(&effect)) {
    if (executor.running) {
      const int epoch = executor.epoch;
      executor.outbox.push_back(input::TaskEnded{
          id, epoch, executor.attempt, {TaskExit::Cause::kStopped, 0, 15, "", {}}});
    }
    executor.running = false;
    executor.plan.reset();
    executor.rounds.reset();
    executor.preparing = true;
    executor.exit.reset();
    executor.epoch = prepare->epoch;
    executor.attempt = prepare->attempt;
    executor.keep_ports = prepare->keep_ports;
  } else if (const auto* start = std::get_if<effect::SendStart>(&effect)) {
    // A start that comes twice finds the program running, or over.
    if (start->epoch != executor.epoch || executor.running || executor.exit) return;
    executor.running = true;
    ++runs_;
    executor.outbox.push_back(input::TaskStarted{id, executor.epoch, executor.attempt, 1000});
    Drive(id, executor, *start);
  } else if (const auto* members = std::get_if<effect::SendMembers>(&effect)) {
    if (members->epoch != executor.epoch || !executor.running) return;
    if (!executor.rounds) {
      const ElasticSettings& elastic = *job_.horovod.elastic;
      executor.rounds.emplace(ElasticPolicy{{elastic.least, FindWorkers()}, 0});
    }
    CarryOutRounds(id, executor,
                   executor.rounds->OnMembers(members->members, members->finished, clock_.Now()));
  } else if (std::holds_alternative<effect::SendShutdown>(effect)) {
    if (executor.running && !dice_.OneIn(3)) {
      Apply(input::TaskEnded{
          id, executor.epoch, executor.attempt, {TaskExit::Cause::kStopped, 0, 15, "", {}}});
    }
    backend_.End(id, {false, "tony-executor exited with code 0"});
  }
}

void JobWorld::RunProgram(const std::string& id, Executor& executor, bool calm) {
  if (dice_.OneIn(4)) SayPlan(id, executor);
  if (dice_.OneIn(4)) AskForPlaces(id, executor);
  if (!executor.running) return;
  // A driver ends by itself only where something goes wrong.
  const bool stays = executor.plan && (calm || mishaps_ == Mishaps::kMasters || !dice_.OneIn(10));
  if (stays || !dice_.OneIn(calm ? 3 : 10)) {
    Apply(input::Heartbeat{id, TaskUsage{}});
    return;
  }
  executor.running = false;
  TaskExit exit;
  if (!calm && mishaps_ == Mishaps::kAll && dice_.OneIn(4)) {
    exit.code = 1;
    // Some look as if a peer had gone.
    if (dice_.OneIn(3)) exit.tail = {"ConnectionResetError: Connection reset by peer"};
  }
  executor.exit = exit;
  executor.outbox.push_back(input::TaskEnded{id, executor.epoch, executor.attempt, exit});
}

void JobWorld::Disturb(const std::string& id, Executor& executor) {
  switch (mishaps_ == Mishaps::kAll ? dice_.Roll(8) : 3) {
    case 0:
      executor.hangs = true;
      return;
    case 1:
      if (executor.attached)
        executor.outbox.push_back(input::PortTaken{id, executor.epoch, executor.port, "pid 1"});
      return;
    case 2:
      if (!executor.preparing) return;
      executor.preparing = false;
      executor.exit = TaskExit{TaskExit::Cause::kNotStarted, 0, 0, "no space left", {}};
      executor.outbox.push_back(
          input::TaskEnded{id, executor.epoch, executor.attempt, *executor.exit});
      return;
    case 3:
    case 4:
      if (!executor.attached) return;
      BreakStream(executor);
      Apply(input::ExecutorDetached{id});
      return;
    case 5:
      backend_.End(id, {true, "the node does not answer", false});
      return;
    default:
      backend_.End(id, {true, "the node went away"});
  }
}

input::ExecutorAttached JobWorld::Hello(const std::string& id, const Executor& executor) const {
  using Phase = input::HeldTask::Phase;
  input::ExecutorAttached hello{id, std::nullopt};
  if (!executor.assigned) return hello;
  input::HeldTask& held = hello.held.emplace();
  held.epoch = executor.epoch;
  held.attempt = executor.attempt;
  held.port = executor.port;
  if (executor.epoch < 0 || executor.preparing) {
    held.phase = Phase::kPreparing;
  } else if (executor.exit) {
    held.phase = Phase::kEnded;
    held.exit = *executor.exit;
  } else {
    held.phase = executor.running ? Phase::kRunning : Phase::kRegistered;
    held.pid = executor.running ? 1000 : 0;
  }
  return hello;
}

void JobWorld::BreakStream(Executor& executor) {
  executor.attached = false;
  executor.heard = false;
  executor.inbox.clear();
  executor.outbox.clear();
}

void JobWorld::LoseMaster() {
  if (over()) return;
  ++restarts_;
  lose_master_ = false;
  for (auto& [id, executor] : executors_) BreakStream(executor);
  std::erase_if(past_, [](const JobInput&) { return true; });
  backend_.MasterLost();
  machine_ = std::make_unique<JobMachine>(job_);
  for (const auto& [decision, at] : journal_) machine_->Replay(decision, at);
  auditor_.Restarted(*machine_);
  log_.push_back("== the ApplicationMaster is lost; the next one goes on\n");
  Apply(input::Start{restarts_ + 1});
}

/// Something that was said before, and what a container that nobody knows might say.
void JobWorld::Misdirect() {
  if (past_.empty()) return;
  const JobInput message = past_[static_cast<size_t>(dice_.Roll(static_cast<int>(past_.size())))];
  if (const auto* ended = std::get_if<input::TaskEnded>(&message)) {
    // A copy of an exit of this epoch cannot be told from the exit itself, as long as there was
    // none.
    const Task* task = machine_->tasks().FindByContainer(ended->container_id);
    const bool current = task != nullptr && ended->attempt == task->attempt;
    if (ended->epoch == machine_->epoch() && current) return;
  }
  // A stream begins once, and with what is true then.
  if (std::holds_alternative<input::ExecutorAttached>(message)) return;
  Apply(message);
  if (dice_.OneIn(4)) Apply(input::ExecutorRegistered{"stranger", machine_->epoch(), 1, 1, 0});
  if (dice_.OneIn(4)) Apply(input::TaskEnded{"stranger", machine_->epoch(), 1, {}});
}

/// As in the ApplicationMaster: to the next deadline at most, where the machine gets its tick.
void JobWorld::PassTime() {
  // If no executor may be lost, those that have to attach again do so in time.
  const bool all_attached = std::all_of(executors_.begin(), executors_.end(),
                                        [](const auto& entry) { return entry.second.heard; });
  if (mishaps_ == Mishaps::kMasters && !all_attached) return;
  const std::optional<TimePoint> deadline = machine_->NextDeadline();
  const Duration random = milliseconds(1 + dice_.Roll(1000));
  if (!deadline || clock_.Now() + random < *deadline) {
    clock_.Advance(random);
  } else {
    clock_.Advance(std::max(Duration(0), *deadline - clock_.Now()));
    Apply(input::Tick{});
  }
  std::vector<std::string> alive;
  for (const auto& [id, executor] : executors_) {
    if (executor.heard && !executor.hangs && !backend_.killed(id)) alive.push_back(id);
  }
  for (const std::string& id : alive) {
    if (executors_[id].heard)
      Apply(input::Heartbeat{id, std::nullopt, clock_.Now().time_since_epoch().count() + 1});
  }
}

void JobWorld::Apply(const JobInput& input) {
  ++inputs_;
  JobEffects effects = machine_->Apply(input, clock_.Now());
  const bool lost = lose_master_ && depth_ == 0 && !effects.empty() && !over();
  if (lost) effects.resize(static_cast<size_t>(dice_.Roll(static_cast<int>(effects.size()))));
  log_.push_back(absl::StrCat("-> ", RenderInput(input), "\n", RenderEffects(effects)));
  if (log_.size() > 60) log_.pop_front();
  const std::vector<std::string> violations = auditor_.Check(input, effects, !lost);
  if (!violations.empty()) Complain(absl::StrJoin(violations, "\n"));
  ++depth_;
  for (const JobEffect& effect : effects) Carry(effect);
  --depth_;
  if (lost) LoseMaster();
}

void JobWorld::Carry(const JobEffect& effect) {
  const auto deliver = [&](const std::string& id) {
    auto found = executors_.find(id);
    if (found != executors_.end()) found->second.inbox.push_back(effect);
  };
  if (const auto* journal = std::get_if<effect::Journal>(&effect)) {
    for (const Decision& decision : journal->decisions) {
      journal_.emplace_back(decision, clock_.Now());
    }
  } else if (const auto* reclaim = std::get_if<effect::ReclaimContainers>(&effect)) {
    backend_.Reclaim(reclaim->containers);
  } else if (const auto* assignment = std::get_if<effect::SendAssignment>(&effect)) {
    deliver(assignment->container_id);
    Lease(assignment->container_id);
  } else if (const auto* reattached = std::get_if<effect::SendReattached>(&effect)) {
    Lease(reattached->container_id);
  } else if (const auto* answer = std::get_if<effect::AnswerHeartbeat>(&effect)) {
    Lease(answer->container_id);
  } else if (const auto* request = std::get_if<effect::RequestContainers>(&effect)) {
    backend_.Request(request->requests);
  } else if (std::holds_alternative<effect::GiveBackSpare>(effect)) {
    backend_.GiveBackSpare();
  } else if (std::holds_alternative<effect::CancelRequests>(effect)) {
    backend_.CancelRequests();
  } else if (const auto* launch = std::get_if<effect::LaunchExecutor>(&effect)) {
    backend_.Launch(launch->container_id, {{}, {}, launch->task.ToPath()});
    executors_[launch->container_id];
  } else if (const auto* kill = std::get_if<effect::KillContainer>(&effect)) {
    backend_.Kill(kill->container_id);
  } else if (const auto* prepare = std::get_if<effect::SendPrepare>(&effect)) {
    deliver(prepare->container_id);
  } else if (const auto* members = std::get_if<effect::SendMembers>(&effect)) {
    deliver(members->container_id);
  } else if (const auto* shutdown = std::get_if<effect::SendShutdown>(&effect)) {
    deliver(shutdown->container_id);
  } else if (const auto* start = std::get_if<effect::SendStart>(&effect)) {
    CheckLeases(start->container_ids);
    for (const std::string& id : start->container_ids) deliver(id);
  }
}

void JobWorld::Lease(const std::string& container_id) {
  const Task* task = machine_->tasks().FindByContainer(container_id);
  if (task == nullptr || executors_.count(container_id) == 0) return;
  leases_[container_id] = {task->id, clock_.Now() + LeaseOf(job_.timeouts)};
}

void JobWorld::CheckLeases(const std::vector<std::string>& container_ids) {
  for (const std::string& id : container_ids) {
    const Task* task = machine_->tasks().FindByContainer(id);
    for (const auto& [other, lease] : leases_) {
      if (task == nullptr || other == id || lease.first != task->id) continue;
      if (lease.second > clock_.Now()) Complain(absl::StrCat(other, " may still run ", id, "'s"));
    }
  }
}

void JobWorld::CheckEnd() {
  const std::vector<std::string> violations = auditor_.CheckEnd();
  if (!violations.empty()) Complain(absl::StrJoin(violations, "\n"));
}

void JobWorld::Complain(const std::string& what) {
  if (trouble_.empty()) trouble_ = absl::StrCat(what, "\nafter:\n", log());
}

std::string JobWorld::log() const { return absl::StrJoin(log_, ""); }

void JobWorld::OnContainerGranted(const Container& container) {
  Apply(input::ContainerGranted{container});
}
void JobWorld::OnAllocationWaiting(const std::string& what, const std::string& unblock) {
  Apply(input::AllocationWaiting{what, unblock});
}
void JobWorld::OnAllocationRefused(bool never_fits, const std::string& sentence) {
  Apply(input::AllocationRefused{never_fits, sentence});
}
void JobWorld::OnContainerEnded(const std::string& container_id, const ContainerEnd& end) {
  executors_.erase(container_id);
  if (end.seen) leases_.erase(container_id);
  Apply(input::ContainerEnded{container_id, end});
}

}  // namespace tony::core
