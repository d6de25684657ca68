// The commands of scenario files.
#include "tests/core/job/job_scenario.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"
#include "tests/core/job/job_rendering.h"
#include "tests/core/job/scenario_job.h"

namespace tony::core {
namespace {

using std::chrono::milliseconds;

/// The duration of a command that was checked to have one.
milliseconds DurationOf(const ScenarioCommand& command) {
  return ParseScenarioDuration(command.Word(0)).value();
}

}  // namespace

absl::StatusOr<std::string> JobScenario::Run(const std::string& text, const std::string& file) {
  std::string result;
  bool in_output = false;
  int number = 0;
  int unshown = 0;  // the line of the last command whose "----" has not come yet
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  for (const std::string& line : lines) {
    ++number;
    if (line == "----") {
      absl::StrAppend(&result, "----\n", output_, violations_, StateLine(), "\n");
      output_.clear();
      violations_.clear();
      in_output = true;
      unshown = 0;
    } else if (in_output) {
      if (line.empty()) absl::StrAppend(&result, "\n");
      in_output = !line.empty();
    } else {
      absl::StrAppend(&result, line, "\n");
      if (line.empty() || line[0] == '#') continue;
      unshown = number;
      TONY_RETURN_IF_ERROR(Annotate(RunLine(line), absl::StrCat(file, ":", number)));
    }
  }
  if (unshown > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ":", unshown, ": expected a line ---- after the command"));
  }
  while (result.size() > 1 && result.substr(result.size() - 2) == "\n\n") result.pop_back();
  return result;
}

absl::Status JobScenario::RunLine(const std::string& line) {
  TONY_ASSIGN_OR_RETURN(const ScenarioLine parsed, ParseScenarioLine(line));
  const std::string before = output_;
  for (const ScenarioCommand& command : parsed.commands) TONY_RETURN_IF_ERROR(Run(command));
  if (parsed.quiet) output_ = before;
  return absl::OkStatus();
}

absl::Status JobScenario::Run(const ScenarioCommand& command) {
  if (command.name == "job") return NewJob(command);
  if (machine_ == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(command.name, ": there is no job yet; expected job"));
  }
  if (command.name == "start") {
    Apply(input::Start{});
  } else if (command.name == "stop") {
    Apply(input::StopRequested{Reason::kKilledByUser, command.Word(0, "Stopped by a person")});
  } else if (command.name == "stall") {
    clock_.Advance(DurationOf(command));
    Apply(input::Tick{});
  } else if (command.name == "lose-master") {
    LoseMaster();
  } else if (command.name == "end-reclaimed") {
    if (!backend_->EndReclaimed()) Complain("every reclaimed container is there");
  } else if (command.name == "advance") {
    Advance(DurationOf(command));
  } else if (!RunBackendCommand(command) && !RunExecutorCommand(command)) {
    Complain("nobody runs the command " + command.name);
  }
  return absl::OkStatus();
}

absl::Status JobScenario::NewJob(const ScenarioCommand& command) {
  TONY_ASSIGN_OR_RETURN(const ScenarioJob job, ReadScenarioJob(command));
  job_ = job.description;
  machine_ = std::make_unique<JobMachine>(job_);
  journal_.clear();
  incarnation_ = 1;
  auditor_ = std::make_unique<JobAuditor>(*machine_);
  backend_ = std::make_unique<FakeClusterBackend>(*this);
  backend_->set_hosts(job.hosts);
  beating_.clear();
  job_began_ = clock_.Now();
  return absl::OkStatus();
}

void JobScenario::LoseMaster() {
  machine_ = std::make_unique<JobMachine>(job_);
  for (const auto& [decision, at] : journal_) machine_->Replay(decision, at);
  auditor_->Restarted(*machine_);
  backend_->MasterLost();
  beating_.clear();
  Apply(input::Start{++incarnation_});
}

input::HeldTask JobScenario::Held(const ScenarioCommand& command, int number, int attempt) const {
  using Phase = input::HeldTask::Phase;
  const std::map<std::string, Phase> phases = {{"preparing", Phase::kPreparing},
                                               {"registered", Phase::kRegistered},
                                               {"running", Phase::kRunning},
                                               {"ended", Phase::kEnded}};
  input::HeldTask held;
  held.phase = phases.at(command.Option("phase"));
  held.epoch = command.Number("epoch", machine_->epoch());
  held.attempt = attempt;
  held.port = 10000 + 100 * held.epoch + number;
  held.visualization_port = command.Number("page", 0);
  if (held.phase == Phase::kRunning) held.pid = 1000 * (held.epoch + 1) + number;
  held.exit.code = command.Number("code", 0);
  return held;
}

RendezvousPlan JobScenario::Plan(const ScenarioCommand& command) const {
  std::vector<HostSlots> hosts;
  for (const Task& task : machine_->tasks().all()) {
    if (IsRanked(task.id.type) && task.container) hosts.push_back({task.container->host, 1});
  }
  const int ranks = command.Number("ranks", static_cast<int>(hosts.size()));
  return {5000 + machine_->epoch(), true, PlanSlots(hosts, ranks).value()};
}

RendezvousPlan JobScenario::Round(const ScenarioCommand& command) {
  RendezvousPlan plan;
  plan.port = 5000;
  plan.round = command.Number("number", 0);
  plan.members = absl::StrSplit(command.Option("members"), ',');
  plan.slots = PlanSlots({{"host", static_cast<int>(plan.members.size())}},
                         static_cast<int>(plan.members.size()))
                   .value();
  return plan;
}

bool JobScenario::RunBackendCommand(const ScenarioCommand& command) {
  const std::string first = command.Word(0);
  if (command.name == "grant" && first == "all") {
    backend_->GrantAll();
  } else if (command.name == "grant") {
    for (const std::string& type : command.words) {
      if (!backend_->Grant(type)) Complain("no container is asked for: " + type);
    }
  } else if (command.name == "grant-unasked") {
    backend_->GrantUnasked(first);
  } else if (command.name == "grant-again" && !backend_->holds(first)) {
    Complain("no container to grant again: " + first);
  } else if (command.name == "grant-again") {
    backend_->RepeatGrant(first);
  } else if (command.name == "wait") {
    backend_->Wait(first, command.Word(1));
  } else if (command.name == "process") {
    OnExecutorStarted(first, {command.Number("pid", 0), command.Number("start", 0)});
  } else if (command.name == "refuse") {
    backend_->Refuse(first == "never-fits", command.Word(1));
  } else {
    return false;
  }
  return true;
}

bool JobScenario::RunExecutorCommand(const ScenarioCommand& command) {
  const int epoch = command.Number("epoch", machine_->epoch());
  const std::vector<std::string> containers = ContainersOf(command);
  if (containers.empty()) Complain(command.name + ": no task has a container");
  for (const std::string& id : containers) {
    const int number = std::atoi(id.substr(1).c_str());
    const Task* task = machine_->tasks().FindByContainer(id);
    const int attempt = command.Number("attempt", task == nullptr ? 1 : task->attempt);
    if (command.name == "attach") {
      beating_.insert(id);
      Apply(input::ExecutorAttached{.container_id = id, .boot_id = command.Option("boot")});
    } else if (command.name == "reattach") {
      beating_.insert(id);
      Apply(input::ExecutorAttached{id, Held(command, number, attempt)});
    } else if (command.name == "detach") {
      beating_.erase(id);
      Apply(input::ExecutorDetached{id});
    } else if (command.name == "register") {
      Apply(input::ExecutorRegistered{id, epoch, attempt, 10000 + 100 * epoch + number,
                                      command.Number("page", 0)});
    } else if (command.name == "started") {
      Apply(input::TaskStarted{id, epoch, attempt, 1000 * (epoch + 1) + number});
    } else if (command.name == "end") {
      End(id, attempt, command);
    } else if (command.name == "lost") {
      backend_->End(id, {true, command.Option("why", "the node went away")});
    } else if (command.name == "gone") {
      backend_->End(id, {false, "tony-executor exited with code 0"});
    } else if (command.name == "heartbeat") {
      input::Heartbeat heartbeat{id, std::nullopt};
      if (command.Has("processes")) {
        heartbeat.usage = TaskUsage{};
        heartbeat.usage->processes = command.Number("processes", 0);
      }
      Apply(heartbeat);
    } else if (command.name == "silence") {
      beating_.erase(id);
    } else if (command.name == "plan") {
      Apply(input::RanksPlanned{id, epoch, attempt, Plan(command), command.Option("trouble")});
    } else if (command.name == "round") {
      Apply(input::RanksPlanned{id, epoch, attempt, Round(command)});
    } else if (command.name == "rendezvous") {
      const std::string missing = command.Option("missing");
      RendezvousWait wait{command.words.back(), {}};
      if (!missing.empty()) wait.missing = absl::StrSplit(missing, ',');
      Apply(input::RendezvousWait{id, epoch, attempt, std::move(wait)});
    } else if (command.name == "silent") {
      Apply(input::TaskSilent{id, epoch, attempt, command.Number("millis", 0),
                              command.Number("percent", 0) / 100.0});
    } else if (command.name == "listens" || command.name == "listens-not") {
      Apply(input::VisualizationListener{id, epoch, attempt, command.name == "listens"});
    } else if (command.name == "port-taken") {
      Apply(input::PortTaken{id, epoch, 10000 + 100 * epoch + number, command.Option("holder")});
    } else {
      return false;
    }
  }
  return true;
}

void JobScenario::End(const std::string& container_id, int attempt,
                      const ScenarioCommand& command) {
  input::TaskEnded ended{container_id, command.Number("epoch", machine_->epoch()), attempt, {}};
  ended.exit.ended_millis = command.Number("at", 0);
  if (command.Has("says")) ended.exit.tail = {command.Option("says")};
  TaskExit& exit = ended.exit;
  if (command.Has("signal")) {
    exit.cause = TaskExit::Cause::kSignaled;
    exit.signal = command.Number("signal", 0);
  } else if (command.Has("not-started")) {
    exit.cause = TaskExit::Cause::kNotStarted;
    exit.message = command.Option("not-started");
  } else if (command.Has("lost")) {
    exit.cause = TaskExit::Cause::kLost;
    exit.message = command.Option("lost");
  } else if (command.Has("timed-out")) {
    exit.cause = TaskExit::Cause::kTimedOut;
  } else {
    exit.code = command.Number("code", 0);
  }
  Apply(ended);
}

std::vector<std::string> JobScenario::ContainersOf(const ScenarioCommand& command) const {
  std::vector<std::string> containers;
  for (const std::string& word : command.words) {
    bool found = false;
    for (const Task& task : machine_->tasks().all()) {
      if (!task.container || (word != "all" && word != task.id.ToString())) continue;
      containers.push_back(task.container->id);
      found = true;
    }
    if (!found && IsScenarioContainer(word)) containers.push_back(word);
  }
  return containers;
}

/// As the ApplicationMaster's shell does it: a tick at each deadline, heartbeats meanwhile.
void JobScenario::Advance(Duration by) {
  const TimePoint end = clock_.Now() + by;
  const Duration interval = machine_->job().timeouts.heartbeat_interval;
  TimePoint next_heartbeats = clock_.Now() + interval;
  show_time_ = true;
  while (true) {
    const std::optional<TimePoint> deadline = machine_->NextDeadline();
    const TimePoint next = std::min(deadline.value_or(end), next_heartbeats);
    if (next > end) break;
    clock_.Advance(std::max(Duration(0), next - clock_.Now()));
    if (next == next_heartbeats) {
      SendHeartbeats();
      next_heartbeats += interval;
    } else if (deadline) {
      Apply(input::Tick{});
    } else {
      break;
    }
  }
  clock_.Advance(std::max(Duration(0), end - clock_.Now()));
  show_time_ = false;
}

void JobScenario::SendHeartbeats() {
  for (const std::string& id : std::set<std::string>(beating_)) {
    if (backend_->holds(id) && !backend_->killed(id)) Apply(input::Heartbeat{id, std::nullopt});
  }
}

void JobScenario::Apply(const JobInput& input) {
  const JobEffects effects = machine_->Apply(input, clock_.Now());
  if (show_time_ && !effects.empty()) {
    absl::StrAppend(
        &output_, "after ",
        std::chrono::duration_cast<milliseconds>(clock_.Now() - job_began_).count() / 1000.0,
        " s\n");
  }
  absl::StrAppend(&output_, RenderEffects(effects));
  for (const std::string& violation : auditor_->Check(input, effects)) Complain(violation);
  for (const JobEffect& effect : effects) Obey(effect);
  if (machine_->state() != JobState::kEnded) return;
  for (const std::string& violation : auditor_->CheckEnd()) Complain(violation);
}

void JobScenario::Obey(const JobEffect& effect) {
  if (const auto* journal = std::get_if<effect::Journal>(&effect)) {
    for (const Decision& decision : journal->decisions) {
      journal_.emplace_back(decision, clock_.Now());
    }
  } else if (const auto* reclaim = std::get_if<effect::ReclaimContainers>(&effect)) {
    backend_->Reclaim(reclaim->containers);
  } else if (const auto* request = std::get_if<effect::RequestContainers>(&effect)) {
    backend_->Request(request->requests);
  } else if (std::holds_alternative<effect::GiveBackSpare>(effect)) {
    backend_->GiveBackSpare();
  } else if (std::holds_alternative<effect::CancelRequests>(effect)) {
    backend_->CancelRequests();
  } else if (const auto* launch = std::get_if<effect::LaunchExecutor>(&effect)) {
    backend_->Launch(launch->container_id, {{}, {}, launch->task.ToPath()});
  } else if (const auto* kill = std::get_if<effect::KillContainer>(&effect)) {
    backend_->Kill(kill->container_id);
  }
}

void JobScenario::Complain(const std::string& what) {
  absl::StrAppend(&violations_, "VIOLATION ", what, "\n");
}

std::string JobScenario::StateLine() const {
  if (machine_ == nullptr) return "no job";
  return absl::StrCat("state=", JobStateName(machine_->state()), " epoch=", machine_->epoch());
}

void JobScenario::OnContainerGranted(const Container& container) {
  Apply(input::ContainerGranted{container});
}
void JobScenario::OnExecutorStarted(const std::string& container_id,
                                    const ExecutorProcess& process) {
  Apply(input::ExecutorStarted{container_id, process});
}

void JobScenario::OnAllocationWaiting(const std::string& what, const std::string& unblock) {
  Apply(input::AllocationWaiting{what, unblock});
}
void JobScenario::OnAllocationRefused(bool never_fits, const std::string& sentence) {
  Apply(input::AllocationRefused{never_fits, sentence});
}
void JobScenario::OnContainerEnded(const std::string& container_id, const ContainerEnd& end) {
  Apply(input::ContainerEnded{container_id, end});
}

}  // namespace tony::core
