// The order matters: keys first, then packaging (task types need the interpreter), task types,
// their order, and last the rules that need the whole job. Each part adds its problems and goes on,
// so that one run shows all mistakes.
#include "jobfile/job/job_builder.h"
#include "jobfile/job/alert_rules.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/model/lease.h"
#include "jobfile/job/framework.h"
#include "jobfile/job/horovod_settings.h"
#include "jobfile/job/job_name.h"
#include "jobfile/job/job_order.h"
#include "jobfile/job/job_rules.h"
#include "jobfile/job/job_types.h"
#include "jobfile/job/key_check.h"
#include "jobfile/job/left_behind.h"
#include "jobfile/job/secret_file_rules.h"
#include "jobfile/values/values.h"

namespace tony::jobfile {
namespace {

/// Longer than the ten minutes that YARN takes by default to notice that an ApplicationMaster's
/// node is lost.
constexpr std::chrono::minutes kReattachOnYarn{15};
constexpr char kFaultHandler[] = "PYTHONFAULTHANDLER";
constexpr char kNameKey[] = "tony.application.name";

core::Timeouts BuildTimeouts(const Configuration& configuration) {
  core::Timeouts timeouts;
  timeouts.application = configuration.GetDuration("tony.application.timeout");
  timeouts.allocation = configuration.GetDuration("tony.container.allocation.timeout");
  timeouts.registration = configuration.GetDuration("tony.container.registration.timeout");
  timeouts.container_kill = configuration.GetDuration("tony.container.kill.timeout");
  timeouts.registry = configuration.GetDuration("tony.task.executor.registry-timeout-sec");
  timeouts.execution = configuration.GetDuration("tony.task.executor.execution-timeout-ms");
  timeouts.heartbeat_interval = configuration.GetDuration("tony.task.heartbeat-interval-ms");
  timeouts.max_missed_heartbeats =
      static_cast<int>(configuration.GetNumber("tony.task.max-missed-heartbeats"));
  timeouts.metrics_interval = configuration.GetDuration("tony.task.metrics-interval-ms");
  timeouts.kill_grace = configuration.GetDuration("tony.task.kill-grace-ms");
  timeouts.reattach = configuration.GetDuration("tony.am.reattach-timeout-ms");
  timeouts.client_lease = configuration.GetDuration("tony.client.lease");
  timeouts.silence = configuration.GetDuration("tony.am.silence-timeout-ms");
  timeouts.shutdown = configuration.GetDuration("tony.am.shutdown-timeout-ms");
  timeouts.reconnect = configuration.GetDuration("tony.task.reconnect-timeout-ms");
  timeouts.root_cause = configuration.GetDuration("tony.am.root-cause-timeout-ms");
  timeouts.waiting_notice = configuration.GetDuration("tony.am.waiting-notice-ms");
  timeouts.localization = configuration.GetDuration("tony.task.localization-timeout-ms");
  timeouts.last_events = configuration.GetDuration("tony.am.wait-client-signal-stop-timeout-sec");
  return timeouts;
}

/// A lease is no longer than this, and the ApplicationMaster of many tasks needs rare heartbeats.
std::chrono::milliseconds DefaultReattach(const core::JobDescription& job, bool on_yarn) {
  if (on_yarn) return kReattachOnYarn;
  return std::max(job.timeouts.reattach,
                  std::min(core::LeaseFor(job.CountTasks()), core::HeartbeatTimeout(job.timeouts)));
}

core::LogPolicy BuildLogPolicy(const Configuration& configuration) {
  core::LogPolicy logs;
  logs.rotate_mb = configuration.GetMemoryMb("tony.task.log.rotate-size");
  logs.stream_mb = configuration.GetMemoryMb("tony.task.log.max-size");
  logs.job_mb = configuration.GetMemoryMb("tony.application.log.max-size");
  logs.redact = configuration.GetList("tony.task.log.redact");
  return logs;
}

Packaging BuildPackaging(const Configuration& configuration) {
  Packaging packaging;
  packaging.src_dir = configuration.GetText("tony.application.src-dir");
  packaging.python_venv = configuration.GetText("tony.application.python-venv");
  packaging.python_binary_path = configuration.GetText("tony.application.python-binary-path");
  if (packaging.python_binary_path.empty()) {
    packaging.python_binary_path = configuration.GetText("tony.python-exec-path");
  }
  return packaging;
}

bool Exists(const std::filesystem::path& path) {
  // An environment's interpreter is often a link to a program outside of it.
  std::error_code ignored;
  return std::filesystem::exists(std::filesystem::symlink_status(path, ignored));
}

/// The interpreter inside the environment `folder` that `path` most likely means; empty: there is
/// none.
std::string InterpreterMeant(const std::string& folder, const std::filesystem::path& path) {
  std::filesystem::path rest;
  for (auto part = path.end(); part != path.begin();) {
    rest = rest.empty() ? *--part : *--part / rest;
    if (rest != path.filename() && Exists(std::filesystem::path(folder) / rest)) {
      return rest.string();
    }
  }
  const std::filesystem::path usual = std::filesystem::path("bin") / path.filename();
  return Exists(std::filesystem::path(folder) / usual) ? usual.string() : "";
}

/// Checks that a relative interpreter is in the virtual environment. An environment in an archive
/// is not looked into.
void CheckInterpreter(const Configuration& configuration, BuildResult* result) {
  const Packaging& packaging = result->packaging;
  const std::string& path = packaging.python_binary_path;
  std::error_code ignored;
  if (path.empty() || absl::StartsWith(path, "/") ||
      !std::filesystem::is_directory(packaging.python_venv, ignored) ||
      Exists(std::filesystem::path(packaging.python_venv) / path)) {
    return;
  }
  const std::string meant = InterpreterMeant(packaging.python_venv, path);
  const bool by_tonys_other_key =
      configuration.GetText("tony.application.python-binary-path").empty();
  result->problems.push_back(ProblemAt(
      configuration,
      by_tonys_other_key ? "tony.python-exec-path" : "tony.application.python-binary-path",
      absl::StrCat("there is no ", path, " in the environment ", packaging.python_venv),
      absl::StrCat("write the path inside the environment: ",
                   meant.empty() ? "bin/python3, for example" : meant)));
}

/// The shares that a key gives to users; none if its value is wrong, which CheckKeys() says.
UserShares SharesOf(const Configuration& configuration, const std::string& key,
                    std::optional<int64_t> (*parse_number)(const std::string&)) {
  return ParseUserShares(configuration.GetText(key), parse_number).value_or(UserShares());
}

void CheckLocalSettings(const Configuration& configuration, const LocalSettings& local,
                        BuildResult* result) {
  if (!local.ledger.empty() && !absl::StartsWith(local.ledger, "/")) {
    result->problems.push_back(
        ProblemAt(configuration, "tony.local.ledger", "neither an absolute path nor `private`",
                  "write the path of a folder that an administrator has made, or `private`"));
  }
  if (!absl::StartsWith(local.dir, "/") && !configuration.IsSet("tony.local.dir")) {
    result->problems.push_back({configuration.job_file(), 0, "tony.local.dir",
                                "the default, ~/.tony, needs a home folder",
                                "set HOME, or this key to an absolute path"});
  }
}

// Builds the parts of the job that do not depend on task types.
void BuildApplication(const Configuration& configuration, core::JobDescription* job) {
  job->name = configuration.GetText(kNameKey);
  job->framework = FrameworkOf(configuration);
  if (absl::EqualsIgnoreCase(configuration.GetText("tony.application.distributed-mode"), "FCFS")) {
    job->mode = core::DistributedMode::kFirstComeServed;
  }
  if (job->framework == core::Framework::kHorovod) {
    job->horovod = BuildHorovodSettings(configuration);
  }
  job->am_resources.memory_mb = configuration.GetMemoryMb("tony.am.memory");
  job->am_resources.vcores = static_cast<int>(configuration.GetNumber("tony.am.vcores"));
  job->am_resources.gpus = static_cast<int>(configuration.GetNumber("tony.am.gpus"));
  job->execution_env = configuration.GetKeyValues("tony.execution.envs");
  job->container_env = configuration.GetKeyValues("tony.containers.envs");
  // A variable of the containers would be hidden by that of the programs.
  if (configuration.GetBoolean("tony.task.python-faulthandler") &&
      job->container_env.count(kFaultHandler) == 0) {
    job->execution_env.try_emplace(kFaultHandler, "1");
  }
  job->fail_on_worker_failure =
      configuration.GetBoolean("tony.application.fail-on-worker-failure-enabled");
  job->retry_count = static_cast<int>(configuration.GetNumber("tony.am.retry-count"));
  job->infrastructure_retry_count =
      static_cast<int>(configuration.GetNumber("tony.am.infrastructure-retry-count"));
  job->retry_backoff = configuration.GetDuration("tony.am.retry-backoff-ms");
  job->retry_backoff_max = configuration.GetDuration("tony.am.retry-backoff-max-ms");
  job->rdma = configuration.GetBoolean("tony.application.rdma");
  job->allows_exec = configuration.GetBoolean("tony.task.exec.enabled");
  job->containment = absl::AsciiStrToLower(configuration.GetText("tony.task.containment"));
  job->timeouts = BuildTimeouts(configuration);
  job->logs = BuildLogPolicy(configuration);
  job->progress_pattern = configuration.GetText("tony.task.progress-pattern");
  job->error_message_max_depth = static_cast<int>(
      configuration.GetNumber("tony.task.executor.execution.error-message-max-depth"));
  job->checkpoint_dir = configuration.GetText("tony.application.checkpoint-dir");
}

/// Whether further checks would be useless: too many problems already, as with a file of another
/// program, or more task types than a job may have tasks.
bool IsHopeless(const Configuration& configuration, BuildResult* result) {
  const size_t types = DeclaredTaskTypes(configuration).size();
  if (types > kMaxTasks) {
    result->problems.push_back(
        {configuration.job_file(), 0, "",
         absl::StrCat("the job has ", types, " task types, and no more than ", kMaxTasks,
                      " tasks are possible"),
         "ask for fewer"});
  }
  return types > kMaxTasks || result->problems.size() >= kMostProblems;
}

// A job without task types runs its command in the ApplicationMaster's container; a job with them
// may run it before its tasks.
void BuildMasterCommand(const Configuration& configuration, BuildResult* result) {
  core::JobDescription& job = result->job;
  job.am_command = configuration.GetText("tony.am.command");
  if (job.am_command.empty()) job.am_command = configuration.GetText("tony.containers.command");
  job.am_files = BuildFiles(configuration, "am", result);
}

}  // namespace

LocalSettings BuildLocalSettings(const Configuration& configuration) {
  LocalSettings local;
  local.dir = configuration.GetText("tony.local.dir");
  local.gpus = static_cast<int>(configuration.GetNumber("tony.local.gpus"));
  local.vcores = static_cast<int>(configuration.GetNumber("tony.local.vcores"));
  local.memory_mb = configuration.GetMemoryMb("tony.local.memory");
  local.history_days = static_cast<int>(configuration.GetNumber("tony.local.history-retention"));
  local.gpu_program = configuration.GetText("tony.gpu-exec-path");
  local.gpu_timeout = configuration.GetDuration("tony.gpu-exec-timeout-ms");
  local.ledger = configuration.GetText("tony.local.ledger");
  local.needs_ledger = configuration.IsSet("tony.local.ledger");
  if (local.ledger == "private") local.ledger.clear();
  local.user_gpus = SharesOf(configuration, "tony.local.user-gpus", ParseWholeNumber);
  local.user_memory_mb = SharesOf(configuration, "tony.local.user-memory", ParseMemoryMb);
  local.user_vcores = SharesOf(configuration, "tony.local.user-vcores", ParseWholeNumber);
  local.ledger_timeout = configuration.GetDuration("tony.local.ledger-timeout-ms");
  return local;
}

BuildResult BuildJob(const Configuration& configuration, FileChecks file_checks) {
  BuildResult result;
  const std::string backend = absl::AsciiStrToLower(configuration.GetText("tony.backend"));
  if (backend == "yarn") result.backend = Backend::kYarn;
  if (backend == "launcher") result.backend = Backend::kLauncher;
  CheckKeys(configuration, file_checks, &result);
  if (IsHopeless(configuration, &result)) return result;
  result.packaging = BuildPackaging(configuration);
  if (file_checks == FileChecks::kOn) CheckInterpreter(configuration, &result);
  result.local = BuildLocalSettings(configuration);
  CheckLocalSettings(configuration, result.local, &result);
  BuildApplication(configuration, &result.job);
  result.job.python_interpreter = result.packaging.python_binary_path;
  BuildTaskTypes(configuration, &result);
  BuildTaskOrder(configuration, &result);
  const std::vector<std::string> types = DeclaredTaskTypes(configuration);
  const bool on_yarn = result.backend == Backend::kYarn;
  result.yarn = BuildYarnSettings(configuration, types);
  result.images = BuildImageSettings(configuration, types, on_yarn);
  result.local.hides_other_gpus = !on_yarn && !result.images.by_type.empty();
  result.job.preprocess = configuration.GetBoolean("tony.application.enable-preprocess");
  if (result.job.types.empty() || result.job.preprocess) {
    BuildMasterCommand(configuration, &result);
  }
  if (!configuration.IsSet("tony.am.reattach-timeout-ms")) {
    result.job.timeouts.reattach = DefaultReattach(result.job, on_yarn);
  }
  if (result.backend != Backend::kLocal) {
    // Only these need the limit: the local backend grants a gang all of its containers or none.
    result.job.timeouts.gang_hold = configuration.GetDuration("tony.container.hold-timeout-ms");
  }
  CheckJob(configuration, &result);
  CheckAlerts(configuration, &result);
  if (file_checks == FileChecks::kOn) CheckSecretFiles(configuration, &result);
  return result;
}

LoadedJob LoadJob(const Sources& sources, FileChecks file_checks) {
  LoadResult loaded = LoadConfiguration(sources);
  LoadedJob job{std::move(loaded.configuration), {}};
  // The derived name becomes part of the configuration, since the ApplicationMaster reads that from
  // another folder.
  if (job.configuration.GetText(kNameKey).empty()) {
    const DerivedName derived = DeriveJobName(job.configuration, sources);
    (void)job.configuration.Set(
        kNameKey, {derived.name, {.layer = Layer::kCommandLine, .file = derived.origin}});
  }
  // If a file is no XML, its keys are missing, and the problems of BuildJob() would only follow
  // from that.
  if (loaded.readable) job.result = BuildJob(job.configuration, file_checks);
  std::vector<Problem>& problems = job.result.problems;
  problems.insert(problems.begin(), loaded.problems.begin(), loaded.problems.end());
  job.result.notes.insert(job.result.notes.begin(), loaded.notes.begin(), loaded.notes.end());
  if (file_checks == FileChecks::kOn && job.result.ok()) {
    const std::filesystem::path file =
        std::filesystem::path(sources.working_folder) / sources.job_file;
    for (Problem& note :
         NoteFilesLeftBehind(job.result, sources.working_folder, file.parent_path().string())) {
      job.result.notes.push_back(std::move(note));
    }
  }
  return job;
}

std::string InterpreterInTask(const Packaging& packaging) {
  const std::string& path = packaging.python_binary_path;
  const bool inside_venv =
      !path.empty() && !absl::StartsWith(path, "/") && !packaging.python_venv.empty();
  return inside_venv ? absl::StrCat("venv/", path) : path;
}

}  // namespace tony::jobfile
