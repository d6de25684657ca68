// `tony steps`: the steps of workflows that have had jobs here, and what holds each.
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "client/cli/terminal.h"
#include "client/jobs/job_json.h"
#include "client/verbs/verbs.h"
#include "client/workflow/local_step.h"
#include "common/status_macros.h"
#include "jobfile/job/job_builder.h"

namespace tony::client {
namespace {

using Json = nlohmann::ordered_json;

/// The state of the step's last job, for people and programs.
std::string StateOf(const absl::StatusOr<StoredJob>& job) {
  return job.ok() ? job->job.StateName() : "REMOVED";
}

absl::StatusOr<int> RunSteps(const CommandLine& line, const VerbContext& context) {
  TONY_ASSIGN_OR_RETURN(const jobfile::Configuration configuration, ConfigurationOf(line, context));
  const std::string local_dir = jobfile::BuildLocalSettings(configuration).dir;
  TONY_ASSIGN_OR_RETURN(const std::vector<LocalStep> steps, LocalStep::List(local_dir));
  const JobStore store(local_dir);
  Json all = Json::array();
  for (const LocalStep& step : steps) {
    TONY_ASSIGN_OR_RETURN(const StepRecord record, step.Read());
    const std::string state = record.job.empty() ? "NONE" : StateOf(store.Read(record.job));
    const bool reported = step.IsReported(record.job);
    const bool held = step.IsLocked();
    if (line.Has("json")) {
      all.push_back({{"step_key", record.key},
                     {"system", record.system},
                     {"job", record.job},
                     {"state", state},
                     {"reported", reported},
                     {"held", held},
                     {"attempts", record.attempts},
                     {"used_millis", record.used_millis}});
      continue;
    }
    context.out(absl::StrCat(
        record.key, "\n  ", record.job, "  ", state, reported ? ", reported" : "",
        held ? ", held" : "",
        record.attempts > 1 ? absl::StrCat(", ", record.attempts, " jobs") : "", "\n"));
  }
  if (line.Has("json")) {
    context.bytes(DumpJson(all));
  } else if (steps.empty()) {
    context.out("no step of a workflow has had a job here\n");
  }
  return kVerbDone;
}

}  // namespace

Verb StepsVerb() {
  return {"steps",
          "",
          "the steps of workflows that have had jobs here, and what holds each",
          "Each step has a key, which its attempts share (docs/workflows.md). \"reported\": an\n"
          "attempt has ended with the job's verdict, so that the next one begins a new job. "
          "\"held\":\na process of the job, or of an attempt, lives.\n",
          {},
          0,
          &RunSteps};
}

}  // namespace tony::client
