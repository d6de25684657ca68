// What the verbs share: finding the configuration and the jobs.
#include "client/verbs.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/options.h"
#include "common/status_macros.h"

namespace tony::client {

absl::StatusOr<spec::Sources> SourcesOf(const CommandLine& line, const VerbContext& context,
                                        const std::string& job_file) {
  spec::Sources sources;
  sources.site_file = context.site_file;
  sources.job_file = job_file;
  sources.working_folder = context.working_folder;
  sources.home_folder = context.environment.home;
  for (const std::string& text : line.Values("conf")) {
    TONY_ASSIGN_OR_RETURN(spec::Override conf, ParseOverride("--conf", text));
    sources.overrides.push_back(std::move(conf));
  }
  return sources;
}

absl::StatusOr<spec::Configuration> ConfigurationOf(const CommandLine& line,
                                                    const VerbContext& context) {
  TONY_ASSIGN_OR_RETURN(const spec::Sources sources, SourcesOf(line, context, ""));
  spec::LoadResult loaded = spec::LoadConfiguration(sources);
  if (!loaded.problems.empty()) {
    return absl::InvalidArgumentError(spec::RenderProblem(loaded.problems.front()));
  }
  return std::move(loaded.configuration);
}

absl::StatusOr<JobStore> OpenJobStore(const CommandLine& line, const VerbContext& context) {
  TONY_ASSIGN_OR_RETURN(const spec::Configuration configuration, ConfigurationOf(line, context));
  return JobStore(configuration.GetText("tony.local.dir"));
}

}  // namespace tony::client
