// The configuration and the machine's capacity are checked before a folder is made. A local job is
// then staged, its ApplicationMaster started, and its events followed; the guard lock is held all
// the while.
#include "client/submit/submit_command.h"

#include <unistd.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/str_cat.h"
#include "backend/local/capacity_probe.h"
#include "client/catalog/local_jobs.h"
#include "client/cli/messages.h"
#include "client/follow/follow_job.h"
#include "client/follow/local_master_source.h"
#include "client/jobs/job_json.h"
#include "client/submit/checkpoint_folder.h"
#include "client/submit/dry_run.h"
#include "client/submit/local_job.h"
#include "client/submit/local_step_job.h"
#include "client/workflow/step.h"
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

void PrintProblems(const std::vector<jobfile::Problem>& problems, const std::string& prefix = "") {
  (void)PrintForPeople(STDERR_FILENO, jobfile::RenderProblems(problems, prefix));
}

/// Refuses a job with these problems; returns the exit status. `step`: null without one.
int Refuse(const SubmitOptions& options, const std::vector<jobfile::Problem>& problems,
           Step* step = nullptr) {
  if (step != nullptr) step->summary().error = jobfile::RenderProblems(problems, "");
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

int RunLocalJob(const SubmitOptions& options, const Environment& environment,
                const jobfile::LoadedJob& job, Step* step) {
  const SystemClock clock;
  FailedLaunch failed;
  const std::unique_ptr<LaunchedJob> launched =
      LaunchLocalJob(options, environment, job,
                     {.detached = options.detach, .launcher_fd = options.launcher_fd}, failed);
  if (failed.problem) return Refuse(options, {*failed.problem});
  if (failed.told) return failed.exit_code;
  if (launched == nullptr) return FailWith(failed.why, failed.exit_code);
  if (options.detach) {
    WriteJobId(options, launched->id, job.result.local.dir);
    return 0;
  }
  const FollowedJob followed{.id = launched->id,
                             .make_source =
                                 [&](EventLoop& loop, const Clock& clock) {
                                   return std::make_unique<LocalMasterSource>(
                                       loop, clock, launched->limits, std::move(launched->master));
                                 },
                             .open_catalog = [&]() -> absl::StatusOr<std::unique_ptr<JobCatalog>> {
                               return std::make_unique<LocalJobs>(job.result.local.dir, clock);
                             },
                             .hangup_log = launched->folder.am_log(),
                             .local_dir = job.result.local.dir,
                             .step = step != nullptr ? step->Following() : FollowedStep{}};
  if (step != nullptr) {
    step->summary().job = launched->id;
    step->TellJob();
  }
  const absl::StatusOr<core::Verdict> verdict =
      FollowJob(options, environment, job.configuration, followed);
  if (step != nullptr) {
    const absl::StatusOr<StoredJob> end = JobStore(job.result.local.dir).Read(launched->id);
    if (end.ok()) step->TakeEnd(*end);
  }
  // Whoever still asks for the page hears that nobody is there, instead of waiting for an answer.
  launched->page_sockets.clear();
  return EndLocalJob(verdict, launched->folder);
}

/// Whether the job and the option --launcher-fd belong together.
absl::Status CheckLauncher(const SubmitOptions& options, const jobfile::BuildResult& built) {
  const bool wanted = built.backend == jobfile::Backend::kLauncher;
  if (wanted == (options.launcher_fd >= 0) || (wanted && options.dry_run)) return absl::OkStatus();
  if (!wanted) {
    return absl::InvalidArgumentError(
        "--launcher-fd has no effect unless tony.backend is launcher; add --backend launcher");
  }
  return absl::InvalidArgumentError(
      "tony.backend is launcher, and there is none: the program that starts executors has to start "
      "tony-submit with --launcher-fd (docs/design/launcher.md)");
}

/// Checks the job and runs it. `step`: null unless the submission is one.
int Submit(const SubmitOptions& given, const Environment& environment, Step* step) {
  SubmitOptions options = given;
  for (const std::string& warning : options.warnings) PrintError(warning);
  jobfile::LoadedJob job = Load(options, environment);
  if (step != nullptr && job.result.ok()) {
    const absl::Status added = step->AddDefaults(job);
    if (!added.ok()) return FailWith(added, kInfrastructure);
    options = step->options();
    job = Load(options, environment);
  }
  if (!job.result.ok()) return Refuse(options, job.result.problems, step);
  const absl::Status launcher = CheckLauncher(options, job.result);
  if (!launcher.ok()) return FailWith(launcher, kBadUsage);
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
      if (step != nullptr) step->summary().error = (*refused)->sentence;
      PrintError((*refused)->sentence);
      return kNeverFits;
    }
  }
  if (options.dry_run) {
    const auto problem =
        job.result.backend == jobfile::Backend::kYarn ? std::nullopt : CheckCheckpointFolder(job);
    if (problem) return Refuse(options, {*problem});
    options.json ? WriteBytes(RenderDryRunJson(job)) : WriteOut(RenderDryRun(job));
    return 0;
  }
  if (job.result.backend == jobfile::Backend::kYarn) {
    return RunYarnJob(options, environment, job, step);
  }
  if (local && step != nullptr && !step->key().empty()) {
    return RunLocalStep(*step, environment, job);
  }
  return RunLocalJob(options, environment, job, step);
}

/// A submission that is no step.
int SubmitNamed(const SubmitOptions& options, const Environment& environment) {
  if (options.names_job) return Submit(options, environment, nullptr);
  return FailWith(absl::InvalidArgumentError(
                      "there is no job: name a job file, or a command with --executes (--help "
                      "lists all options)"),
                  kBadUsage);
}

}  // namespace

int RunSubmit(const SubmitOptions& options, const Environment& environment) {
  if (options.dry_run) return SubmitNamed(options, environment);
  const absl::StatusOr<std::unique_ptr<Step>> step = Step::Begin(options);
  if (!step.ok()) return FailWith(step.status(), kBadUsage);
  if (*step == nullptr) return SubmitNamed(options, environment);
  Environment own = environment;
  own.hadoop_values.insert(own.hadoop_values.end(), (*step)->hadoop().begin(),
                           (*step)->hadoop().end());
  return (*step)->End(Submit((*step)->options(), own, step->get()));
}

}  // namespace tony::client
