// `tony validate`: reports everything that is wrong with a job file, without running it.
#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/cli/terminal.h"
#include "client/jobs/job_json.h"
#include "client/show/task_order.h"
#include "client/verbs/verbs.h"
#include "common/status_macros.h"
#include "jobfile/job/job_builder.h"

namespace tony::client {
namespace {

nlohmann::ordered_json ToJson(const std::vector<jobfile::Problem>& problems) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const jobfile::Problem& problem : problems) {
    json.push_back({{"file", problem.file},
                    {"line", problem.line},
                    {"key", problem.key},
                    {"message", problem.message},
                    {"remedy", problem.remedy}});
  }
  return json;
}

absl::StatusOr<int> RunValidate(const CommandLine& line, const VerbContext& context) {
  if (line.positionals.empty() && !line.Has("conf")) {
    return absl::InvalidArgumentError("name the job file: tony validate job.xml");
  }
  const std::string file = line.positionals.empty() ? "" : line.positionals[0];
  TONY_ASSIGN_OR_RETURN(const jobfile::Sources sources, SourcesOf(line, context, file));
  const jobfile::LoadedJob job = jobfile::LoadJob(sources);
  if (line.Has("json")) {
    nlohmann::ordered_json json;
    json["valid"] = job.result.ok();
    json["problems"] = ToJson(job.result.problems);
    json["notes"] = ToJson(job.result.notes);
    if (job.result.ok()) AddOrder(job.result.job, json);
    context.bytes(DumpJson(json));
  } else {
    context.out(jobfile::RenderProblems(job.result.notes, "note: "));
    context.err(jobfile::RenderProblems(job.result.problems));
    if (job.result.ok()) {
      context.out(absl::StrCat(file.empty() ? "the job" : SafeText(file), " is valid\n",
                               RenderOrder(job.result.job)));
    }
  }
  return job.result.ok() ? kVerbDone : kVerbBadUsage;
}

}  // namespace

Verb ValidateVerb() {
  return {"validate", "job.xml", "check a job file without running it", "", {}, 1, &RunValidate};
}

}  // namespace tony::client
