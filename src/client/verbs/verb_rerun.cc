// `tony rerun`: submits a past job's configuration again.
//
// The job's job.xml is the merged configuration with absolute paths, so it reads the same from
// anywhere. The program is packed anew from where it was: a rerun takes what lies there now.
#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/cli/options.h"
#include "client/submit/submit_command.h"
#include "client/verbs/named_jobs.h"
#include "client/verbs/verbs.h"
#include "common/process_setup.h"
#include "common/status_macros.h"
#include "jobfile/configuration/configuration_loader.h"

namespace tony::client {
namespace {

constexpr char kCheckpointKey[] = "tony.application.checkpoint-dir";

/// The file with the job's configuration. InvalidArgument – this machine has none.
absl::StatusOr<std::string> ConfigurationFile(const StoredJob& job) {
  std::error_code ignored;
  const std::string file = job.folder.job_xml();
  if (!job.folder.root().empty() && std::filesystem::exists(file, ignored)) return file;
  return absl::InvalidArgumentError(absl::StrCat("the configuration of job ", job.id,
                                                 " is not on this machine; a cluster's job "
                                                 "is submitted again with its job file"));
}

/// The folder whose checkpoints a rerun continues from; empty: that of the configuration, which the
/// rerun has anyway. InvalidArgument – there are no checkpoints.
absl::StatusOr<std::string> CheckpointsOf(const StoredJob& job, const std::string& job_file) {
  jobfile::Sources sources;
  sources.job_file = job_file;
  if (jobfile::LoadConfiguration(sources).configuration.IsSet(kCheckpointKey)) return std::string();
  std::error_code error;
  const std::string folder = job.folder.checkpoints();
  if (std::filesystem::is_directory(folder, error) && !std::filesystem::is_empty(folder, error)) {
    return folder;
  }
  return absl::InvalidArgumentError(absl::StrCat("job ", job.id, " has no checkpoints in ", folder,
                                                 "; leave --resume out to begin anew"));
}

absl::StatusOr<int> RunRerun(const CommandLine& line, const VerbContext& context) {
  const std::vector<std::string> wishes =
      line.positionals.empty() ? std::vector<std::string>{"latest"} : line.positionals;
  const absl::StatusOr<NamedJobs> named = FindNamedJobs(line, context, wishes);
  if (!named.ok()) return AsBadUsage(named.status());
  const StoredJob& job = named->jobs.front();
  SubmitOptions options;
  TONY_ASSIGN_OR_RETURN(options.job_file, ConfigurationFile(job));
  TONY_ASSIGN_OR_RETURN(const jobfile::Sources sources, SourcesOf(line, context, ""));
  options.overrides = sources.overrides;
  if (line.Has("resume")) {
    if (job.alive) {
      return absl::InvalidArgumentError(absl::StrCat(
          "job ", job.id, " runs, and writes its checkpoints; tony kill ", job.id, " ends it"));
    }
    TONY_ASSIGN_OR_RETURN(const std::string checkpoints, CheckpointsOf(job, options.job_file));
    if (!checkpoints.empty()) {
      options.overrides.push_back({kCheckpointKey, checkpoints, "--resume"});
    }
  }
  options.json = line.Has("json");
  options.quiet = line.Has("quiet");
  options.detach = line.Has("detach");
  options.dry_run = line.Has("dry-run");
  if (line.Has("logs")) options.logs = line.Value("logs");
  TONY_RETURN_IF_ERROR(CheckLogs(options));
  RaiseOpenFiles();
  return RunSubmit(options, context.environment);
}

}  // namespace

Verb RerunVerb() {
  return {"rerun",
          "[JOB]",
          "submit a past job's configuration again",
          "JOB is a job's name, a part of it from the start or to the end, or \"latest\" (the "
          "default).\n"
          "The new job has all keys of JOB, and its program as it is now; --conf changes single "
          "keys. It is\nfollowed as by tony-submit.\n",
          {{"resume", "", false, "continue from the checkpoints of JOB"},
           {"detach", "", false, "print the new job's id and return while it goes on"},
           {"dry-run", "", false, "print what would run, without running it"},
           {"quiet", "", false, "print the verdict only"},
           {.name = "logs",
            .value = "TASK",
            .meaning = "print what the tasks print, as tony-submit --logs does",
            .optional = true}},
          1,
          &RunRerun,
          &JobVerbExits};
}

}  // namespace tony::client
