// The commands of scenario files.
#include "tests/core/job/job_scenario.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/core/job/job_rendering.h"

namespace tony::core {
namespace {

using std::chrono::milliseconds;

/// "5s" or "200ms"; "" is 0.
milliseconds ParseDuration(const std::string& text) {
  const int number = std::atoi(text.c_str());
  const bool is_millis = text.size() > 2 && text.substr(text.size() - 2) == "ms";
  return milliseconds(is_millis ? number : number * 1000);
}

/// Words separated by spaces; within double quotes spaces belong to the word, and the quotes go.
std::vector<std::string> SplitWords(const std::string& line) {
  std::vector<std::string> words;
  bool quoted = false;
  bool in_word = false;
  for (char character : line) {
    if (character == '"') {
      quoted = !quoted;
    } else if (character == ' ' && !quoted) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (character != '"') words.back().push_back(character);
  }
  return words;
}

bool Contains(const std::string& list, const std::string& name) {
  const std::vector<std::string> names = absl::StrSplit(list, ',');
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Of "worker:prep+ps,eval:worker", for "worker": prep and ps.
std::vector<std::string> Dependencies(const std::string& orders, const std::string& type) {
  std::vector<std::string> names;
  for (const auto& order : absl::StrSplit(orders, ',', absl::SkipEmpty())) {
    const std::vector<std::string> parts = absl::StrSplit(order, ':');
    if (parts[0] == type) names = absl::StrSplit(parts.at(1), '+');
  }
  return names;
}

std::vector<DependencyTimeout> ReadLimits(const std::string& text) {
  std::vector<DependencyTimeout> limits;
  for (const auto& one : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    const std::vector<std::string> parts = absl::StrSplit(one, ':');
    limits.push_back({parts.at(0), "A", absl::StrSplit(parts.at(2), '+'),
                      ParseDuration(parts.at(1)), parts.size() > 3});
  }
  return limits;
}

/// TYPE=N for each type, and: untracked= sidecar= stop-on-failure= (lists), retries=N (of both
/// budgets), infrastructure=N (of that one), backoff= (none), scope=TYPE:task|type,… ,
/// after=TYPE:TYPE+TYPE,… (the first depends on the others),
/// limit=TYPE:DURATION:TYPE+TYPE[:ignored],… (of the first after the group of the others), tolerant
/// (a worker may fail), application= allocation= hold= registration= heartbeat= grace= shutdown=
/// (durations), missed=N, horovod (with a type `driver`), planning= (duration), hosts=N (each
/// container has its own).
JobDescription ReadJob(const std::vector<std::string>& words) {
  JobDescription job;
  job.timeouts.max_missed_heartbeats = 3;
  std::map<std::string, std::string> options;
  std::vector<std::pair<std::string, int>> types;
  for (const std::string& word : words) {
    const std::vector<std::string> parts = absl::StrSplit(word, absl::MaxSplits('=', 1));
    if (parts.size() < 2) {
      options[parts[0]] = "true";
    } else if (Contains(
                   "untracked,sidecar,stop-on-failure,retries,infrastructure,backoff,scope,"
                   "after,limit,application,allocation,hold,registration,heartbeat,grace,shutdown,"
                   "missed,planning,hosts,elastic",
                   parts[0])) {
      options[parts[0]] = parts[1];
    } else {
      types.emplace_back(parts[0], std::atoi(parts[1].c_str()));
    }
  }
  for (const auto& [name, instances] : types) {
    TaskType type;
    type.name = name;
    type.instances = instances;
    if (Contains(options["untracked"], name)) type.tracking = Tracking::kUntracked;
    if (Contains(options["sidecar"], name)) type.tracking = Tracking::kSidecar;
    if (Contains(options["scope"], name + ":task")) type.restart_scope = RestartScope::kTask;
    if (Contains(options["scope"], name + ":type")) type.restart_scope = RestartScope::kType;
    type.stop_on_failure = Contains(options["stop-on-failure"], name);
    type.depends_on = Dependencies(options["after"], name);
    if (name == kDriverType) type.tracking = Tracking::kUntracked;
    job.types.push_back(std::move(type));
  }
  job.dependency_timeouts = ReadLimits(options["limit"]);
  Timeouts& timeouts = job.timeouts;
  job.fail_on_worker_failure = options.count("tolerant") == 0;
  job.retry_count = std::atoi(options["retries"].c_str());
  job.infrastructure_retry_count = options.count("infrastructure")
                                       ? std::atoi(options["infrastructure"].c_str())
                                       : job.retry_count;
  job.retry_backoff = ParseDuration(options["backoff"]);
  timeouts.application = ParseDuration(options["application"]);
  timeouts.allocation = ParseDuration(options["allocation"]);
  timeouts.gang_hold = ParseDuration(options["hold"]);
  timeouts.registration = ParseDuration(options["registration"]);
  if (options.count("heartbeat")) timeouts.heartbeat_interval = ParseDuration(options["heartbeat"]);
  if (options.count("missed"))
    timeouts.max_missed_heartbeats = std::atoi(options["missed"].c_str());
  if (options.count("horovod")) job.framework = Framework::kHorovod;
  job.horovod.own_driver = options.count("own-driver") > 0;
  if (options.count("elastic")) {
    const std::vector<std::string> parts = absl::StrSplit(options["elastic"], ':');
    job.horovod.elastic = ElasticSettings{.least = std::atoi(parts.at(0).c_str()),
                                          .first = std::atoi(parts.at(1).c_str())};
  }
  if (options.count("planning")) job.horovod.driver_start = ParseDuration(options["planning"]);
  if (options.count("grace")) timeouts.kill_grace = ParseDuration(options["grace"]);
  if (options.count("shutdown")) timeouts.shutdown = ParseDuration(options["shutdown"]);
  return job;
}

}  // namespace

std::string JobScenario::Command::Option(const std::string& wanted,
                                         const std::string& fallback) const {
  auto found = options.find(wanted);
  return found == options.end() ? fallback : found->second;
}

int JobScenario::Command::Number(const std::string& wanted, int fallback) const {
  const std::string text = Option(wanted);
  return text.empty() ? fallback : std::atoi(text.c_str());
}

std::string JobScenario::Command::Word(size_t index, const std::string& fallback) const {
  return index < words.size() ? words[index] : fallback;
}

std::string JobScenario::Run(const std::string& text) {
  std::string result;
  bool in_output = false;
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  for (const std::string& line : lines) {
    if (line == "----") {
      absl::StrAppend(&result, "----\n", output_, violations_, StateLine(), "\n");
      output_.clear();
      violations_.clear();
      in_output = true;
    } else if (in_output) {
      if (line.empty()) absl::StrAppend(&result, "\n");
      in_output = !line.empty();
    } else {
      absl::StrAppend(&result, line, "\n");
      if (!line.empty() && line[0] != '#') RunLine(line);
    }
  }
  while (result.size() > 1 && result.substr(result.size() - 2) == "\n\n") result.pop_back();
  return result;
}

JobScenario::Command JobScenario::Parse(const std::string& line) {
  Command command;
  for (const std::string& word : SplitWords(line)) {
    const size_t equals = word.find('=');
    if (command.name.empty()) {
      command.name = word;
    } else if (equals != std::string::npos && command.name != "job") {
      command.options[word.substr(0, equals)] = word.substr(equals + 1);
    } else {
      command.words.push_back(word);
    }
  }
  return command;
}

void JobScenario::RunLine(const std::string& line) {
  constexpr char kQuietly[] = "quietly ";
  if (line.rfind(kQuietly, 0) != 0) {
    Run(Parse(line));
    return;
  }
  const std::string before = output_;
  const std::vector<std::string> parts = absl::StrSplit(line.substr(sizeof(kQuietly) - 1), ';');
  for (const std::string& part : parts) Run(Parse(part));
  output_ = before;
}

void JobScenario::Run(const Command& command) {
  if (command.name == "job") {
    NewJob(command);
  } else if (command.name == "start") {
    Apply(input::Start{});
  } else if (command.name == "stop") {
    Apply(input::StopRequested{Reason::kKilledByUser, command.Word(0, "Stopped by a person")});
  } else if (command.name == "stall") {
    clock_.Advance(ParseDuration(command.Word(0)));
    Apply(input::Tick{});
  } else if (command.name == "lose-master") {
    LoseMaster();
  } else if (command.name == "end-reclaimed") {
    if (!backend_->EndReclaimed()) Complain("every reclaimed container is there");
  } else if (command.name == "advance") {
    Advance(ParseDuration(command.Word(0)));
  } else if (!RunBackendCommand(command) && !RunExecutorCommand(command)) {
    Complain("unknown command " + command.name);
  }
}

void JobScenario::NewJob(const Command& command) {
  job_ = ReadJob(command.words);
  machine_ = std::make_unique<JobMachine>(job_);
  journal_.clear();
  incarnation_ = 1;
  auditor_ = std::make_unique<JobAuditor>(*machine_);
  backend_ = std::make_unique<FakeClusterBackend>(*this);
  for (const std::string& word : command.words) {
    if (word.rfind("hosts=", 0) == 0) backend_->set_hosts(std::atoi(word.substr(6).c_str()));
  }
  beating_.clear();
  job_began_ = clock_.Now();
}

void JobScenario::LoseMaster() {
  machine_ = std::make_unique<JobMachine>(job_);
  for (const auto& [decision, at] : journal_) machine_->Replay(decision, at);
  auditor_->Restarted(*machine_);
  backend_->MasterLost();
  beating_.clear();
  Apply(input::Start{++incarnation_});
}

input::HeldTask JobScenario::Held(const Command& command, int number, int attempt) const {
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
  if (held.phase == Phase::kRunning) held.pid = 1000 * (held.epoch + 1) + number;
  held.exit.code = command.Number("code", 0);
  return held;
}

RendezvousPlan JobScenario::Plan(const Command& command) const {
  std::vector<HostSlots> hosts;
  for (const Task& task : machine_->tasks().all()) {
    if (IsRanked(task.id.type) && task.container) hosts.push_back({task.container->host, 1});
  }
  const int ranks = command.Number("ranks", static_cast<int>(hosts.size()));
  return {5000 + machine_->epoch(), true, PlanSlots(hosts, ranks).value()};
}

RendezvousPlan JobScenario::Round(const Command& command) {
  RendezvousPlan plan;
  plan.port = 5000;
  plan.round = command.Number("number", 0);
  plan.members = absl::StrSplit(command.Option("members"), ',');
  plan.slots = PlanSlots({{"host", static_cast<int>(plan.members.size())}},
                         static_cast<int>(plan.members.size()))
                   .value();
  return plan;
}

bool JobScenario::RunBackendCommand(const Command& command) {
  const std::string first = command.Word(0);
  if (command.name == "grant" && first == "all") {
    backend_->GrantAll();
  } else if (command.name == "grant") {
    for (const std::string& type : command.words) {
      if (!backend_->Grant(type)) Complain("no container is asked for: " + type);
    }
  } else if (command.name == "grant-unasked") {
    backend_->GrantUnasked(first);
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

bool JobScenario::RunExecutorCommand(const Command& command) {
  const int epoch = command.Number("epoch", machine_->epoch());
  for (const std::string& id : ContainersOf(command)) {
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
      if (command.options.count("processes")) {
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
    } else if (command.name == "port-taken") {
      Apply(input::PortTaken{id, epoch, 10000 + 100 * epoch + number, command.Option("holder")});
    } else {
      return false;
    }
  }
  return true;
}

void JobScenario::End(const std::string& container_id, int attempt, const Command& command) {
  input::TaskEnded ended{container_id, command.Number("epoch", machine_->epoch()), attempt, {}};
  ended.exit.ended_millis = command.Number("at", 0);
  if (command.options.count("says")) ended.exit.tail = {command.Option("says")};
  TaskExit& exit = ended.exit;
  if (command.options.count("signal")) {
    exit.cause = TaskExit::Cause::kSignaled;
    exit.signal = command.Number("signal", 0);
  } else if (command.options.count("not-started")) {
    exit.cause = TaskExit::Cause::kNotStarted;
    exit.message = command.Option("not-started");
  } else if (command.options.count("lost")) {
    exit.cause = TaskExit::Cause::kLost;
    exit.message = command.Option("lost");
  } else if (command.Word(command.words.size() - 1) == "timed-out") {
    exit.cause = TaskExit::Cause::kTimedOut;
  } else {
    exit.code = command.Number("code", 0);
  }
  Apply(ended);
}

std::vector<std::string> JobScenario::ContainersOf(const Command& command) const {
  std::vector<std::string> containers;
  for (const std::string& word : command.words) {
    bool found = false;
    for (const Task& task : machine_->tasks().all()) {
      if (!task.container || (word != "all" && word != task.id.ToString())) continue;
      containers.push_back(task.container->id);
      found = true;
    }
    const bool container_name =
        word[0] == 'c' && word.find_first_not_of("0123456789", 1) == std::string::npos;
    if (!found && container_name) containers.push_back(word);
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
