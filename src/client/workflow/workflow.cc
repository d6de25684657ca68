#include "client/workflow/workflow.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
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

}  // namespace

absl::StatusOr<Workflow> FindWorkflow(const VariableLookup& variables,
                                      const std::vector<std::string>& arguments) {
  if (variables("AIRFLOW_CTX_DAG_ID")) return FindAirflow(variables, arguments);
  return Workflow{};
}

}  // namespace tony::client
