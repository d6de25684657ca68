// Finds the configuration and the backend for all verbs. A YARN application's id names its backend
// by itself, so `tony status application_…` needs no --backend.
#include "client/verbs/verbs.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/catalog/local_jobs.h"
#include "client/cli/options.h"
#include "client/yarn/yarn_access.h"
#include "client/yarn/yarn_jobs.h"
#include "common/safe_text.h"
#include "common/status_macros.h"

namespace tony::client {

void Say(const VerbContext& context, const std::string& sentence) {
  context.err(absl::StrCat("tony: ", SafeText(sentence), "\n"));
}

absl::StatusOr<jobfile::Sources> SourcesOf(const CommandLine& line, const VerbContext& context,
                                           const std::string& job_file) {
  jobfile::Sources sources;
  sources.machine_file = context.machine_file;
  sources.site_file = context.site_file;
  sources.job_file = job_file;
  sources.working_folder = context.working_folder;
  sources.home_folder = context.environment.home;
  for (const std::string& text : line.Values("conf")) {
    TONY_ASSIGN_OR_RETURN(jobfile::Override conf, ParseOverride("--conf", text));
    sources.overrides.push_back(std::move(conf));
  }
  if (line.Has("backend")) {
    sources.overrides.push_back({"tony.backend", line.Value("backend"), "--backend"});
  }
  return sources;
}

absl::StatusOr<jobfile::Configuration> ConfigurationOf(const CommandLine& line,
                                                       const VerbContext& context) {
  TONY_ASSIGN_OR_RETURN(const jobfile::Sources sources, SourcesOf(line, context, ""));
  jobfile::LoadResult loaded = jobfile::LoadConfiguration(sources);
  if (!loaded.problems.empty()) {
    return absl::InvalidArgumentError(jobfile::RenderProblem(loaded.problems.front()));
  }
  return std::move(loaded.configuration);
}

absl::StatusOr<std::unique_ptr<JobCatalog>> OpenJobs(const CommandLine& line,
                                                     const VerbContext& context,
                                                     const std::string& wish) {
  TONY_ASSIGN_OR_RETURN(const jobfile::Configuration configuration, ConfigurationOf(line, context));
  const std::string backend = absl::AsciiStrToLower(configuration.GetText("tony.backend"));
  if (backend == "yarn" || backend::IsApplicationId(wish)) {
    TONY_ASSIGN_OR_RETURN(
        backend::YarnCluster cluster,
        FindCluster(context.environment, jobfile::BuildYarnSettings(configuration, {})));
    return YarnJobs::Open(std::move(cluster));
  }
  return std::make_unique<LocalJobs>(configuration.GetText("tony.local.dir"), *context.clock);
}

}  // namespace tony::client
