// The summary of a step for its workflow system, one JSON object in a file (docs/workflows.md).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/workflow/workflow.h"
#include "core/record/verdict.h"

namespace tony::client {

/// The summary of a step. Plain data; an empty text is null in the file.
struct StepSummary {
  std::string step_key;
  std::string job;
  std::string page;
  std::string tensorboard;
  std::vector<WorkflowLink> links;
  std::string state;     ///< as `tony status` calls it, or "NOT_SUBMITTED"
  bool adopted = false;  ///< an earlier attempt had submitted the job
  int attempt = 0;
  std::optional<core::Verdict> verdict;
  /// The last value of each name that the chief has reported, or else the first task that has any.
  std::map<std::string, std::string> metrics;
  std::string error;             ///< why there is no verdict
  std::optional<int> exit_code;  ///< set at the end
  std::string checkpoint_dir;
};

/// One line of JSON.
std::string RenderSummary(const StepSummary& summary);

/// Writes the summary into the file, in place: the folder may be another user's. Errno codes.
absl::Status WriteSummary(const StepSummary& summary, const std::string& path);

}  // namespace tony::client
