// A step of Azkaban: what its properties say about the step and about the job, and the file for
// what the following steps get.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/workflow/azkaban_job.h"

namespace tony::client {

/// Looks up a variable of the environment: its value, or nothing if it is not set.
using EnvironmentLookup = std::function<std::optional<std::string>(const std::string& name)>;

/// A step of Azkaban. Plain data.
struct AzkabanStep {
  /// The web server's host, project, execution id, and the step's path in its flow, or else its
  /// id. Empty: the properties do not name the step.
  std::vector<std::string> key_parts;
  std::string job_id;  ///< begins the names of the outputs; see AzkabanOutputPrefix()
  int attempt = 0;     ///< 0 for the first one
  /// Azkaban's own pages: what they show ("attempt", "job", "execution", …), and the URL.
  std::vector<std::pair<std::string, std::string>> links;
  std::string outputs;  ///< the file for WriteAzkabanOutputs()
  AzkabanJob job;
};

/// Whether Azkaban started this process: JOB_PROP_FILE and JOB_OUTPUT_PROP_FILE are set.
bool IsAzkaban(const EnvironmentLookup& variables);

/// Reads the step's properties. `working_folder`: the process's, absolute. InvalidArgument – the
/// file or a property cannot be used; otherwise the codes of jobfile::ReadJavaProperties(). The
/// message names file and line.
absl::StatusOr<AzkabanStep> ReadAzkabanStep(const EnvironmentLookup& variables,
                                            const std::string& working_folder);

/// The beginning of the names of a step's outputs, `train.` for the job id `train`. The following
/// steps read outputs as properties, so `step.` comes before a beginning that steers a step:
/// `tony.train` gives `step.tony.train.`.
std::string AzkabanOutputPrefix(const std::string& job_id);

/// Writes `outputs`, names and values, into the file at `path` for the following steps. The file is
/// overwritten in place, as its folder may be another user's; Azkaban has made it. Names that would
/// steer a following step are left out. Errno codes.
absl::Status WriteAzkabanOutputs(const std::string& path,
                                 const std::vector<std::pair<std::string, std::string>>& outputs);

}  // namespace tony::client
