// What may happen in a JobWorld, and how often.
#include "tests/core/job_world.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/core/job_rendering.h"

namespace tony::core {
namespace {

using std::chrono::milliseconds;

JobDescription RandomJob(Dice& dice) {
  JobDescription job;
  const auto add = [&](const std::string& name, int instances, Tracking tracking) {
    TaskType type;
    type.name = name;
    type.instances = instances;
    type.tracking = tracking;
    type.stop_on_failure = dice.OneIn(8);
    job.types.push_back(std::move(type));
  };
  if (dice.OneIn(3)) add("chief", 1, Tracking::kTracked);
  add("worker", 1 + dice.Roll(4), Tracking::kTracked);
  if (dice.OneIn(2)) add("ps", 1 + dice.Roll(2), Tracking::kUntracked);
  if (dice.OneIn(3)) add("tensorboard", 1, Tracking::kSidecar);
  job.fail_on_worker_failure = !dice.OneIn(3);
  job.retry_count = dice.Roll(5);
  job.timeouts.max_missed_heartbeats = 3;
  if (dice.OneIn(3)) job.timeouts.application = milliseconds(1000 + dice.Roll(600000));
  if (dice.OneIn(3)) job.timeouts.allocation = milliseconds(1000 + dice.Roll(30000));
  if (!dice.OneIn(3)) job.timeouts.registration = milliseconds(1000 + dice.Roll(60000));
  return job;
}

std::string Describe(const JobInput& input) {
  struct Describer {
    std::string operator()(const input::Start&) { return "start"; }
    std::string operator()(const input::ContainerGranted& event) {
      return "granted " + event.container.id;
    }
    std::string operator()(const input::AllocationWaiting&) { return "waiting"; }
    std::string operator()(const input::AllocationRefused&) { return "refused"; }
    std::string operator()(const input::ContainerEnded& event) {
      return "ended " + event.container_id;
    }
    std::string operator()(const input::ExecutorAttached& event) {
      return "attached " + event.container_id;
    }
    std::string operator()(const input::ExecutorRegistered& event) {
      return absl::StrCat("registered ", event.container_id, " epoch=", event.epoch);
    }
    std::string operator()(const input::TaskStarted& event) {
      return absl::StrCat("started ", event.container_id, " epoch=", event.epoch);
    }
    std::string operator()(const input::TaskEnded& event) {
      return absl::StrCat("task of ", event.container_id, " ", event.exit.Describe(),
                          " epoch=", event.epoch);
    }
    std::string operator()(const input::Heartbeat& event) {
      return "heartbeat " + event.container_id;
    }
    std::string operator()(const input::PortTaken& event) {
      return "port taken " + event.container_id;
    }
    std::string operator()(const input::StopRequested&) { return "stop"; }
    std::string operator()(const input::Tick&) { return "tick"; }
  };
  return std::visit(Describer{}, input);
}

}  // namespace

int Dice::Roll(int sides) {
  // Knuth's MMIX constants; the low bits of such a generator are poor, so the high ones are used.
  state_ = state_ * 6364136223846793005u + 1442695040888963407u;
  return static_cast<int>((state_ >> 33) % static_cast<uint64_t>(sides));
}

JobWorld::JobWorld(uint64_t seed)
    : dice_(seed), machine_(RandomJob(dice_)), auditor_(machine_), backend_(*this) {
  if (dice_.OneIn(20)) Apply(input::StopRequested{});
  Apply(input::Start{});
}

void JobWorld::Step(bool calm) {
  const int what = dice_.Roll(100);
  if (what < 15) return BackendStep(calm);
  if (what < 25) return PassTime();
  if (what < 30) return Misdirect();
  if (!calm && what == 30 && dice_.OneIn(20)) return Apply(input::StopRequested{});
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
    backend_.End(std::string(id), {true, "killed"});
    return;
  }
  const std::vector<std::string> pending = backend_.pending();
  if (!calm && dice_.OneIn(200)) {
    backend_.Refuse(dice_.OneIn(2), "refused");
  } else if (!pending.empty() && dice_.OneIn(10)) {
    backend_.Wait("the cluster is full", "the end of another job");
  } else if (!pending.empty()) {
    backend_.Grant(pending[static_cast<size_t>(dice_.Roll(static_cast<int>(pending.size())))]);
  } else if (!calm && dice_.OneIn(30)) {
    backend_.GrantUnasked(machine_.job().types.front().name);
  }
}

void JobWorld::ExecutorStep(const std::string& id, Executor& executor, bool calm) {
  if (backend_.killed(id)) return;
  if (executor.hangs) {
    if (calm) backend_.End(id, {true, "the node was switched off"});
    return;
  }
  if (!calm && dice_.OneIn(60)) return Disturb(id, executor);
  if (!executor.attached) {
    executor.attached = true;
    executor.outbox.push_back(input::ExecutorAttached{id});
  } else if (!executor.outbox.empty() && !dice_.OneIn(3)) {
    const JobInput message = executor.outbox.front();
    executor.outbox.pop_front();
    past_.push_back(message);
    Apply(message);
  } else if (!executor.inbox.empty()) {
    const JobEffect effect = executor.inbox.front();
    executor.inbox.pop_front();
    Obey(id, executor, effect);
  } else if (executor.preparing && dice_.OneIn(2)) {
    executor.preparing = false;
    executor.port = next_port_++;
    executor.outbox.push_back(input::ExecutorRegistered{id, executor.epoch, executor.port, 0});
  } else if (executor.running) {
    RunProgram(id, executor, calm);
  }
}

void JobWorld::Obey(const std::string& id, Executor& executor, const JobEffect& effect) {
  if (const auto* prepare = std::get_if<effect::SendPrepare>(&effect)) {
    if (executor.running) {
      // A program that is ended for the new epoch may be reported under either.
      const int epoch = dice_.OneIn(2) ? executor.epoch : prepare->epoch;
      executor.outbox.push_back(
          input::TaskEnded{id, epoch, {TaskExit::Cause::kSignaled, 0, 15, "", {}}});
    }
    executor.running = false;
    executor.preparing = true;
    executor.epoch = prepare->epoch;
  } else if (const auto* start = std::get_if<effect::SendStart>(&effect)) {
    if (start->epoch != executor.epoch) return;
    executor.running = true;
    executor.outbox.push_back(input::TaskStarted{id, executor.epoch, 1000});
  } else if (std::holds_alternative<effect::SendShutdown>(effect)) {
    if (executor.running && !dice_.OneIn(3)) {
      Apply(input::TaskEnded{id, executor.epoch, {TaskExit::Cause::kSignaled, 0, 15, "", {}}});
    }
    backend_.End(id, {false, "tony-executor exited with code 0"});
  }
}

void JobWorld::RunProgram(const std::string& id, Executor& executor, bool calm) {
  if (!dice_.OneIn(calm ? 3 : 10)) {
    Apply(input::Heartbeat{id, TaskUsage{}});
    return;
  }
  executor.running = false;
  TaskExit exit;
  if (!calm && dice_.OneIn(4)) exit.code = 1;
  executor.outbox.push_back(input::TaskEnded{id, executor.epoch, exit});
}

void JobWorld::Disturb(const std::string& id, Executor& executor) {
  switch (dice_.Roll(5)) {
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
      executor.outbox.push_back(input::TaskEnded{
          id, executor.epoch, {TaskExit::Cause::kNotStarted, 0, 0, "no space left", {}}});
      return;
    default:
      backend_.End(id, {true, "the node went away"});
  }
}

/// Something that was said before, and what a container that nobody knows might say.
void JobWorld::Misdirect() {
  if (past_.empty()) return;
  const JobInput message = past_[static_cast<size_t>(dice_.Roll(static_cast<int>(past_.size())))];
  if (const auto* ended = std::get_if<input::TaskEnded>(&message)) {
    // A copy of an exit of this epoch cannot be told from the exit itself, as long as there was
    // none.
    if (ended->epoch == machine_.epoch()) return;
  }
  Apply(message);
  if (dice_.OneIn(4)) Apply(input::ExecutorRegistered{"stranger", machine_.epoch(), 1, 0});
  if (dice_.OneIn(4)) Apply(input::TaskEnded{"stranger", machine_.epoch(), {}});
}

/// As in the ApplicationMaster: to the next deadline at most, where the machine gets its tick.
void JobWorld::PassTime() {
  const std::optional<TimePoint> deadline = machine_.NextDeadline();
  const Duration random = milliseconds(1 + dice_.Roll(1000));
  if (!deadline || clock_.Now() + random < *deadline) {
    clock_.Advance(random);
  } else {
    clock_.Advance(std::max(Duration(0), *deadline - clock_.Now()));
    Apply(input::Tick{});
  }
  std::vector<std::string> alive;
  for (const auto& [id, executor] : executors_) {
    if (executor.attached && !executor.hangs && !backend_.killed(id)) alive.push_back(id);
  }
  for (const std::string& id : alive) Apply(input::Heartbeat{id, std::nullopt});
}

void JobWorld::Apply(const JobInput& input) {
  ++inputs_;
  const JobEffects effects = machine_.Apply(input, clock_.Now());
  log_.push_back("-> " + Describe(input) + "\n" + RenderEffects(effects));
  if (log_.size() > 60) log_.pop_front();
  const std::vector<std::string> violations = auditor_.Check(input, effects);
  if (!violations.empty()) Complain(absl::StrJoin(violations, "\n"));
  for (const JobEffect& effect : effects) Carry(effect);
}

void JobWorld::Carry(const JobEffect& effect) {
  const auto deliver = [&](const std::string& id) {
    auto found = executors_.find(id);
    if (found != executors_.end()) found->second.inbox.push_back(effect);
  };
  if (const auto* request = std::get_if<effect::RequestContainers>(&effect)) {
    backend_.Request(request->requests);
  } else if (std::holds_alternative<effect::CancelRequests>(effect)) {
    backend_.CancelRequests();
  } else if (const auto* launch = std::get_if<effect::LaunchExecutor>(&effect)) {
    backend_.Launch(launch->container_id, {{}, {}, launch->task.ToPath()});
    executors_[launch->container_id];
  } else if (const auto* kill = std::get_if<effect::KillContainer>(&effect)) {
    backend_.Kill(kill->container_id);
  } else if (const auto* prepare = std::get_if<effect::SendPrepare>(&effect)) {
    deliver(prepare->container_id);
  } else if (const auto* shutdown = std::get_if<effect::SendShutdown>(&effect)) {
    deliver(shutdown->container_id);
  } else if (const auto* start = std::get_if<effect::SendStart>(&effect)) {
    for (const std::string& id : start->container_ids) deliver(id);
  }
}

void JobWorld::CheckEnd() {
  const std::vector<std::string> violations = auditor_.CheckEnd();
  if (!violations.empty()) Complain(absl::StrJoin(violations, "\n"));
}

void JobWorld::Complain(const std::string& what) {
  if (trouble_.empty()) trouble_ = absl::StrCat(what, "\nafter:\n", absl::StrJoin(log_, ""));
}

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
  Apply(input::ContainerEnded{container_id, end});
}

}  // namespace tony::core
