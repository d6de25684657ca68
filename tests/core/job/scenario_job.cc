// The options of the command `job`.
#include "tests/core/job/scenario_job.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"

namespace tony::core {
namespace {

using std::chrono::milliseconds;

constexpr int kMost = std::numeric_limits<int>::max();

absl::Status Expected(const std::string& option, const std::string& value,
                      const std::string& form) {
  return absl::InvalidArgumentError(
      absl::StrCat("job: ", option, " is \"", value, "\"; expected ", form));
}

absl::StatusOr<TaskType*> FindType(JobDescription& job, const std::string& name,
                                   const std::string& option) {
  for (TaskType& type : job.types) {
    if (type.name == name) return &type;
  }
  return Expected(option, name, "types of this job");
}

absl::Status ReadTypes(const std::vector<std::string>& words, JobDescription& job) {
  for (const std::string& word : words) {
    const std::vector<std::string> parts = absl::StrSplit(word, '=');
    if (FindType(job, parts[0], "TYPE").ok()) return Expected(parts[0], parts[1], "it once");
    TaskType type;
    type.name = parts[0];
    TONY_ASSIGN_OR_RETURN(type.instances, ParseScenarioNumber(parts[1], 0, kMost));
    if (type.name == kDriverType) type.tracking = Tracking::kUntracked;
    job.types.push_back(std::move(type));
  }
  return absl::OkStatus();
}

/// The parts of an option's value that are separated by commas.
std::vector<std::string> Entries(const ScenarioCommand& command, const std::string& option) {
  return absl::StrSplit(command.Option(option), ',', absl::SkipEmpty());
}

template <typename Change>
absl::Status ForListedTypes(const ScenarioCommand& command, const std::string& option,
                            JobDescription& job, Change change) {
  for (const std::string& name : Entries(command, option)) {
    TONY_ASSIGN_OR_RETURN(TaskType * type, FindType(job, name, option));
    change(*type);
  }
  return absl::OkStatus();
}

absl::Status ReadScopes(const ScenarioCommand& command, JobDescription& job) {
  for (const std::string& entry : Entries(command, "scope")) {
    const std::vector<std::string> parts = absl::StrSplit(entry, ':');
    if (parts.size() != 2 || (parts[1] != "task" && parts[1] != "type")) {
      return Expected("scope", entry, "TYPE:task or TYPE:type");
    }
    TONY_ASSIGN_OR_RETURN(TaskType * type, FindType(job, parts[0], "scope"));
    type->restart_scope = parts[1] == "task" ? RestartScope::kTask : RestartScope::kType;
  }
  return absl::OkStatus();
}

/// The types of "ps+worker".
absl::StatusOr<std::vector<std::string>> ReadGroup(const std::string& group, JobDescription& job,
                                                   const std::string& option) {
  std::vector<std::string> names = absl::StrSplit(group, '+');
  for (const std::string& name : names) TONY_RETURN_IF_ERROR(FindType(job, name, option).status());
  return names;
}

absl::Status ReadDependencies(const ScenarioCommand& command, JobDescription& job) {
  for (const std::string& entry : Entries(command, "after")) {
    const std::vector<std::string> parts = absl::StrSplit(entry, ':');
    if (parts.size() != 2) return Expected("after", entry, "TYPE:TYPE+TYPE");
    TONY_ASSIGN_OR_RETURN(TaskType * type, FindType(job, parts[0], "after"));
    TONY_ASSIGN_OR_RETURN(type->depends_on, ReadGroup(parts[1], job, "after"));
  }
  return absl::OkStatus();
}

absl::Status ReadDependencyTimeouts(const ScenarioCommand& command, JobDescription& job) {
  for (const std::string& entry : Entries(command, "limit")) {
    const std::vector<std::string> parts = absl::StrSplit(entry, ':');
    const bool ignored = parts.size() == 4 && parts[3] == "ignored";
    if (parts.size() != 3 && !ignored) {
      return Expected("limit", entry, "TYPE:DURATION:TYPE+TYPE, with or without :ignored");
    }
    TONY_RETURN_IF_ERROR(FindType(job, parts[0], "limit").status());
    const absl::StatusOr<milliseconds> limit = ParseScenarioDuration(parts[1]);
    if (!limit.ok()) return Expected("limit", entry, "a duration like 5s or 200ms in it");
    TONY_ASSIGN_OR_RETURN(const std::vector<std::string> group, ReadGroup(parts[2], job, "limit"));
    job.dependency_timeouts.push_back({parts[0], "A", group, *limit, ignored});
  }
  return absl::OkStatus();
}

absl::Status ReadHorovod(const ScenarioCommand& command, JobDescription& job) {
  if (command.Has("horovod")) job.framework = Framework::kHorovod;
  job.horovod.own_driver = command.Has("own-driver");
  if (!command.Has("elastic")) return absl::OkStatus();
  const std::string elastic = command.Option("elastic");
  const std::vector<std::string> parts = absl::StrSplit(elastic, ':');
  ElasticSettings settings;
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &settings.least) ||
      !absl::SimpleAtoi(parts[1], &settings.first) || settings.least < 1 ||
      settings.first < settings.least) {
    return Expected("elastic", elastic, "LEAST:FIRST, two numbers from 1, the first no larger");
  }
  job.horovod.elastic = settings;
  return absl::OkStatus();
}

/// The options that were checked to be durations; what is not given stays as it is.
void ReadDurations(const ScenarioCommand& command, JobDescription& job) {
  Timeouts& timeouts = job.timeouts;
  timeouts.application = timeouts.allocation = milliseconds(0);
  timeouts.gang_hold = timeouts.registration = milliseconds(0);
  job.retry_backoff = milliseconds(0);
  const auto read = [&](const std::string& option, auto& duration) {
    if (command.Has(option)) duration = ParseScenarioDuration(command.Option(option)).value();
  };
  read("application", timeouts.application);
  read("allocation", timeouts.allocation);
  read("hold", timeouts.gang_hold);
  read("registration", timeouts.registration);
  read("backoff", job.retry_backoff);
  read("heartbeat", timeouts.heartbeat_interval);
  read("planning", job.horovod.driver_start);
  read("grace", timeouts.kill_grace);
  read("shutdown", timeouts.shutdown);
}

}  // namespace

absl::StatusOr<ScenarioJob> ReadScenarioJob(const ScenarioCommand& command) {
  ScenarioJob result;
  JobDescription& job = result.description;
  TONY_RETURN_IF_ERROR(ReadTypes(command.words, job));
  TONY_RETURN_IF_ERROR(ForListedTypes(
      command, "untracked", job, [](TaskType& type) { type.tracking = Tracking::kUntracked; }));
  TONY_RETURN_IF_ERROR(ForListedTypes(command, "sidecar", job,
                                      [](TaskType& type) { type.tracking = Tracking::kSidecar; }));
  TONY_RETURN_IF_ERROR(ForListedTypes(command, "stop-on-failure", job,
                                      [](TaskType& type) { type.stop_on_failure = true; }));
  TONY_RETURN_IF_ERROR(ReadScopes(command, job));
  TONY_RETURN_IF_ERROR(ReadDependencies(command, job));
  TONY_RETURN_IF_ERROR(ReadDependencyTimeouts(command, job));
  TONY_RETURN_IF_ERROR(ReadHorovod(command, job));
  ReadDurations(command, job);
  if (command.Has("fcfs")) job.mode = DistributedMode::kFirstComeServed;
  job.fail_on_worker_failure = !command.Has("tolerant");
  job.retry_count = command.Number("retries", 0);
  job.infrastructure_retry_count = command.Number("infrastructure", job.retry_count);
  job.timeouts.max_missed_heartbeats = command.Number("missed", 3);
  result.hosts = command.Number("hosts", 0);
  return result;
}

}  // namespace tony::core
