// The configuration and the machine's capacity are checked before a folder is made. A local job is
// then staged, its ApplicationMaster started, and its events followed; the guard lock is held all
// the while.
#include "client/submit/submit_command.h"

#include <unistd.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>

#include "absl/strings/str_cat.h"
#include "backend/local/capacity_probe.h"
#include "client/catalog/local_jobs.h"
#include "client/cli/messages.h"
#include "client/follow/follow_job.h"
#include "client/follow/local_master_source.h"
#include "client/jobs/history_retention.h"
#include "client/jobs/job_json.h"
#include "client/jobs/job_remains.h"
#include "client/jobs/seen_time.h"
#include "client/staging/staging.h"
#include "client/submit/checkpoint_folder.h"
#include "client/submit/dry_run.h"
#include "client/submit/image_check.h"
#include "client/submit/job_id.h"
#include "client/yarn/yarn_submit.h"
#include "common/safe_text.h"
#include "common/status_macros.h"
#include "core/model/master_task.h"
#include "core/record/job_view.h"
#include "core/schedule/admission.h"
#include "core/schedule/stage_graph.h"
#include "history/job_logs.h"
#include "jobfile/job/job_builder.h"
#include "jobfile/xml/problem.h"
#include "os/files/file_lock.h"
#include "os/files/unique_fd.h"
#include "os/machine/machine.h"

namespace tony::client {
namespace {

jobfile::LoadedJob Load(const SubmitOptions& options, const Environment& environment) {
  jobfile::Sources sources;
  sources.machine_file = MachineFile(environment);
  sources.site_file = SiteFile(environment);
  sources.job_file = options.job_file;
  sources.overrides = options.overrides;
  std::error_code error;
  sources.working_folder = std::filesystem::current_path(error).string();
  sources.home_folder = environment.home;
  return jobfile::LoadJob(sources);
}

/// Refuses a job that this machine could never run; returns nothing when it could run. When types
/// have an order, only the tasks that certainly run at the same time must fit together.
absl::StatusOr<std::optional<core::NeverFits>> CheckCapacity(const jobfile::BuildResult& built) {
  const core::JobDescription job = core::WithMasterTask(built.job);
  bool gpus = false;
  for (const core::TaskType& type : job.types) {
    gpus = gpus || (type.instances > 0 && type.resources.gpus > 0);
  }
  TONY_ASSIGN_OR_RETURN(const os::Machine machine, os::ReadMachine());
  const core::Capacity capacity = backend::ProbeCapacity(built.local, machine, gpus);
  const core::StageGraph graph(job.types);
  for (const core::Stage& stage : graph.stages()) {
    std::vector<core::ContainerRequest> requests;
    for (const std::string& name : stage.together) {
      const core::TaskType& type = *job.FindType(name);
      if (type.instances > 0) requests.push_back({type.name, type.instances, type.resources});
    }
    if (auto refused = core::CheckFits(capacity, requests)) return refused;
  }
  return std::nullopt;
}

/// Removes the staged files of a job that has no ApplicationMaster to do it.
void Unstage(const storage::JobFolder& folder) {
  const absl::Status removed = RemoveStaged(folder);
  if (!removed.ok()) PrintError(std::string(removed.message()));
}

void PrintProblems(const std::vector<jobfile::Problem>& problems, const std::string& prefix = "") {
  (void)PrintForPeople(STDERR_FILENO, jobfile::RenderProblems(problems, prefix));
}

/// Refuses a job with these problems; returns the exit status.
int Refuse(const SubmitOptions& options, const std::vector<jobfile::Problem>& problems) {
  PrintProblems(problems);
  if (options.json) WriteBytes(DumpJsonLine(RefusalToJson(problems, kBadUsage)));
  return kBadUsage;
}

/// Spells the task of --logs as the logs' readers want it. NotFound – the job has no such task.
absl::Status ResolveLogs(const core::JobDescription& job, std::string& task) {
  if (task.empty()) return absl::OkStatus();
  core::JobSubmitted submitted;
  submitted.job_id = job.name;
  for (const core::TaskType& type : core::WithMasterTask(job).types) {
    submitted.types.push_back({type.name, type.instances});
  }
  core::JobView view;
  view.Apply({.sequence = 1, .body = submitted});
  TONY_ASSIGN_OR_RETURN(task, history::ResolveTask(view, task));
  return absl::OkStatus();
}

/// Cleans up after a local job, and returns the exit status.
int EndLocalJob(const absl::StatusOr<core::Verdict>& verdict, const storage::JobFolder& folder) {
  // A held lock means that an ApplicationMaster still lives because the user left early; it cleans
  // up by itself.
  const absl::StatusOr<os::UniqueFd> lock = os::LockFile(folder.am_lock());
  if (verdict.ok()) {
    // An ApplicationMaster that was killed after the verdict has not cleaned up, or not completely.
    if (lock.ok()) (void)RemoveRemains(folder);
    return core::ExitCode(*verdict);
  }
  // Executors may still be ending their tasks, so their folders stay, but nobody needs the secrets
  // any more.
  if (lock.ok()) Unstage(folder);
  return FailWith(verdict.status(), ExitOf(verdict.status()));
}

/// An id that no job in the folder `jobs` has: another one of this second may have drawn the same
/// random bits.
std::string NewJobId(const std::string& jobs, const Clock& clock) {
  std::random_device random;
  std::error_code ignored;
  std::string id;
  do {
    id = MakeLocalJobId(clock.UnixMillis(), random());
  } while (std::filesystem::exists(absl::StrCat(jobs, "/", id), ignored));
  return id;
}

/// `checkpoint_fd`: holds the lock of the job's checkpoint folder; -1: there is none.
int RunLocalJob(const SubmitOptions& options, const Environment& environment,
                const jobfile::LoadedJob& job, int checkpoint_fd) {
  SystemClock clock;
  const std::string jobs = storage::JobsFolder(job.result.local.dir);
  const std::string job_id = NewJobId(jobs, clock);
  const storage::JobFolder folder(absl::StrCat(jobs, "/", job_id));
  absl::StatusOr<os::UniqueFd> guard = StageJob(job, job_id, folder);
  if (!guard.ok()) {
    const bool full = absl::IsResourceExhausted(guard.status());
    return FailWith(guard.status(), full ? kInfrastructure : kBadUsage);
  }
  const jobfile::Configuration& conf = job.configuration;
  const LocalMasterSource::Options limits{
      .folder = folder,
      .start_deadline = conf.GetDuration("tony.client.am-start-timeout-ms"),
      .exit_deadline = conf.GetDuration("tony.client.am-exit-timeout-ms"),
      .restarts = static_cast<int>(conf.GetNumber("tony.am.max-restarts")),
      .open_files = environment.open_files,
      .checkpoint_fd = checkpoint_fd};
  // The sweep runs beside the job's start and ends with this function.
  const HistorySweep sweep(job.result.local.dir, job.result.local.history_days,
                           ReadClocks(clock.UnixMillis()));
  absl::StatusOr<MasterProcess> master =
      MasterProcess::Start(folder, {.detached = options.detach,
                                    .guard_fd = guard->get(),
                                    .checkpoint_fd = checkpoint_fd,
                                    .restarts = limits.restarts,
                                    .deadline = limits.start_deadline,
                                    .open_files = limits.open_files});
  if (!master.ok()) {
    Unstage(folder);
    return FailWith(master.status(), kInfrastructure);
  }
  if (options.detach) {
    WriteJobId(options, job_id, job.result.local.dir);
    return 0;
  }
  const FollowedJob followed{.id = job_id,
                             .make_source =
                                 [&](EventLoop& loop, const Clock& clock) {
                                   return std::make_unique<LocalMasterSource>(loop, clock, limits,
                                                                              *std::move(master));
                                 },
                             .open_catalog = [&]() -> absl::StatusOr<std::unique_ptr<JobCatalog>> {
                               return std::make_unique<LocalJobs>(job.result.local.dir, clock);
                             },
                             .hangup_log = folder.am_log(),
                             .local_dir = job.result.local.dir};
  const absl::StatusOr<core::Verdict> verdict = FollowJob(options, environment, conf, followed);
  return EndLocalJob(verdict, folder);
}

}  // namespace

int RunSubmit(const SubmitOptions& given, const Environment& environment) {
  SubmitOptions options = given;
  for (const std::string& warning : options.warnings) PrintError(warning);
  const jobfile::LoadedJob job = Load(options, environment);
  if (!job.result.ok()) return Refuse(options, job.result.problems);
  if (!options.quiet) PrintProblems(job.result.notes, "note: ");
  if (options.logs) {
    const absl::Status resolved = ResolveLogs(job.result.job, *options.logs);
    if (!resolved.ok()) return FailWith(Annotate(resolved, "--logs"), kBadUsage);
  }
  const bool local = job.result.backend == jobfile::Backend::kLocal;
  if (local) {
    absl::StatusOr<std::optional<core::NeverFits>> refused = CheckCapacity(job.result);
    if (!refused.ok()) return FailWith(refused.status(), kInfrastructure);
    if (*refused) {
      PrintError((*refused)->sentence);
      return kNeverFits;
    }
  }
  if (options.dry_run) {
    const auto problem = local ? CheckCheckpointFolder(job) : std::nullopt;
    if (problem) return Refuse(options, {*problem});
    options.json ? WriteBytes(RenderDryRunJson(job)) : WriteOut(RenderDryRun(job));
    return 0;
  }
  if (!local) return RunYarnJob(options, environment, job);
  const CheckpointFolder checkpoints = ClaimCheckpointFolder(job);
  if (checkpoints.problem) return Refuse(options, {*checkpoints.problem});
  if (!checkpoints.note.empty()) PrintError(checkpoints.note);
  if (const int code = PrepareImages(options, job); code != 0) return code;
  return RunLocalJob(options, environment, job, checkpoints.lock.get());
}

}  // namespace tony::client
