#include "client/workflow/workflow.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/workflow/step_key.h"
#include "common/status_macros.h"

namespace tony::client {
namespace {

/// Airflow tells a command its DAG, run and task, but not the map index. Mapped tasks of one DAG
/// differ in their jobs at least, and the attempts of one task do not. tony's own operator
/// gives a key.
absl::StatusOr<Workflow> FindAirflow(const EnvironmentLookup& variables,
                                     const std::vector<std::string>& job) {
  Workflow workflow{.system = "airflow"};
  TONY_ASSIGN_OR_RETURN(const std::string digest, StepDigest(absl::StrJoin(job, "\n")));
  workflow.key = JoinStepKey({workflow.system, *variables("AIRFLOW_CTX_DAG_ID"),
                              variables("AIRFLOW_CTX_TASK_ID").value_or(""),
                              variables("AIRFLOW_CTX_DAG_RUN_ID").value_or(""),
                              absl::StrCat("job-", digest.substr(0, 8))});
  return workflow;
}

absl::StatusOr<Workflow> FindAzkaban(const EnvironmentLookup& variables,
                                     const std::string& working_folder) {
  TONY_ASSIGN_OR_RETURN(AzkabanStep step, ReadAzkabanStep(variables, working_folder));
  Workflow workflow{.system = "azkaban", .describes_job = true, .stops_with_parent = true};
  if (!step.key_parts.empty()) {
    step.key_parts.insert(step.key_parts.begin(), workflow.system);
    workflow.key = JoinStepKey(step.key_parts);
  }
  for (const auto& [name, url] : step.links) {
    workflow.links.push_back({absl::StrCat("Azkaban's ", name), url});
  }
  workflow.job_file = std::move(step.job.job_file);
  workflow.overrides = std::move(step.job.overrides);
  workflow.hadoop = std::move(step.job.hadoop);
  workflow.notes = std::move(step.job.notes);
  workflow.outputs = std::move(step.outputs);
  workflow.output_prefix = AzkabanOutputPrefix(step.job_id);
  return workflow;
}

}  // namespace

absl::StatusOr<Workflow> FindWorkflow(const EnvironmentLookup& variables,
                                      const std::vector<std::string>& job,
                                      const std::string& working_folder) {
  if (IsAzkaban(variables)) return FindAzkaban(variables, working_folder);
  if (variables("AIRFLOW_CTX_DAG_ID")) return FindAirflow(variables, job);
  return Workflow{};
}

}  // namespace tony::client
