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

/// Checks one job file, or with an empty name the job of the options alone, and prints what is
/// wrong with it. `json`: takes it instead; null: text is wanted.
absl::StatusOr<bool> Validate(const std::string& file, const CommandLine& line,
                              const VerbContext& context, nlohmann::ordered_json* json) {
  TONY_ASSIGN_OR_RETURN(const jobfile::Sources sources, SourcesOf(line, context, file));
  const jobfile::LoadedJob job = jobfile::LoadJob(sources);
  if (json != nullptr) {
    (*json)["valid"] = job.result.ok();
    (*json)["problems"] = ProblemsToJson(job.result.problems);
    (*json)["notes"] = ProblemsToJson(job.result.notes);
    if (job.result.ok()) AddOrder(job.result.job, *json);
    return job.result.ok();
  }
  context.out(jobfile::RenderProblems(job.result.notes, "note: "));
  context.err(jobfile::RenderProblems(job.result.problems));
  if (job.result.ok()) {
    context.out(absl::StrCat(file.empty() ? "the job" : SafeText(file), " is valid\n",
                             RenderOrder(job.result.job)));
  }
  return job.result.ok();
}

absl::StatusOr<int> RunValidate(const CommandLine& line, const VerbContext& context) {
  if (line.positionals.empty() && !line.Has("conf")) {
    return absl::InvalidArgumentError("name the job file: tony validate job.xml");
  }
  const std::vector<std::string> files =
      line.positionals.empty() ? std::vector<std::string>{""} : line.positionals;
  bool valid = true;
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const std::string& file : files) {
    nlohmann::ordered_json json;
    if (files.size() > 1) json["file"] = file;
    TONY_ASSIGN_OR_RETURN(const bool one,
                          Validate(file, line, context, line.Has("json") ? &json : nullptr));
    valid = valid && one;
    all.push_back(std::move(json));
  }
  if (line.Has("json")) context.bytes(DumpJson(files.size() == 1 ? all[0] : all));
  return valid ? kVerbDone : kVerbBadUsage;
}

}  // namespace

Verb ValidateVerb() {
  return {"validate", "job.xml…",  "check job files without running them", "", {},
          kAnyNumber, &RunValidate};
}

}  // namespace tony::client
