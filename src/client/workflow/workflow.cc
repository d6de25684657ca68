#include "client/workflow/workflow.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/workflow/azkaban.h"
#include "client/workflow/step_key.h"
#include "common/status_macros.h"

namespace tony::client {
namespace {

/// Airflow tells a command its DAG, run and task, but not the map index. Mapped tasks of one DAG
/// differ in their arguments at least, and the attempts of one task do not. tony's own operator
/// gives a key.
absl::StatusOr<Workflow> FindAirflow(const VariableLookup& variables,
                                     const std::vector<std::string>& arguments) {
  Workflow workflow{.system = "airflow"};
  TONY_ASSIGN_OR_RETURN(const std::string digest, StepDigest(absl::StrJoin(arguments, "\n")));
  workflow.key = JoinStepKey({workflow.system, *variables("AIRFLOW_CTX_DAG_ID"),
                              variables("AIRFLOW_CTX_TASK_ID").value_or(""),
                              variables("AIRFLOW_CTX_DAG_RUN_ID").value_or(""),
                              absl::StrCat("arguments-", digest.substr(0, 8))});
  return workflow;
}

/// A re-run of an execution has another id, so nobody adopts a job whose flow is gone.
absl::StatusOr<Workflow> FindAzkaban(const VariableLookup& variables) {
  std::error_code ignored;
  TONY_ASSIGN_OR_RETURN(
      AzkabanStep step,
      ReadAzkabanStep(variables, std::filesystem::current_path(ignored).string()));
  Workflow workflow{.system = "azkaban",
                    .job_file = std::move(step.job.job_file),
                    .overrides = std::move(step.job.overrides),
                    .hadoop = std::move(step.job.hadoop),
                    .notes = std::move(step.job.notes),
                    .outputs = std::move(step.outputs),
                    .output_prefix = AzkabanOutputPrefix(step.job_id),
                    .stops_with_parent = true};
  if (!step.key_parts.empty()) {
    std::vector<std::string> parts = {workflow.system};
    parts.insert(parts.end(), step.key_parts.begin(), step.key_parts.end());
    workflow.key = JoinStepKey(parts);
  }
  for (const auto& [name, url] : step.links) {
    workflow.links.push_back({absl::StrCat("Azkaban's ", name), url});
  }
  return workflow;
}

}  // namespace

absl::StatusOr<Workflow> FindWorkflow(const VariableLookup& variables,
                                      const std::vector<std::string>& arguments) {
  if (variables("AIRFLOW_CTX_DAG_ID")) return FindAirflow(variables, arguments);
  if (IsAzkaban(variables)) return FindAzkaban(variables);
  return Workflow{};
}

}  // namespace tony::client
