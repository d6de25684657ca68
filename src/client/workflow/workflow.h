// Recognizes the workflow system that runs this process as a step.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hadoop/config/configuration.h"
#include "jobfile/configuration/configuration_loader.h"

namespace tony::client {

/// A variable of the environment; nothing: it is not set.
using VariableLookup = std::function<std::optional<std::string>(const std::string& name)>;

/// A page of the workflow system. Plain data.
struct WorkflowLink {
  std::string name;
  std::string url;
};

/// What a workflow system tells its step. Plain data.
struct Workflow {
  std::string system;  ///< "azkaban", "airflow"; empty: none is recognized
  std::string key;     ///< of the step; empty: the system does not name it
  std::vector<WorkflowLink> links;
  std::string job_file;                      ///< empty: the system names none
  std::vector<jobfile::Override> overrides;  ///< weaker than those of the command line
  std::vector<hadoop::GivenValue> hadoop;    ///< for the client's Hadoop configuration
  std::vector<std::string> notes;            ///< sentences for the user
  std::string outputs;        ///< the file for what the following steps get; empty: none
  std::string output_prefix;  ///< begins their names
  /// A job whose workflow is gone is stopped at once, because nobody will adopt it.
  bool stops_with_parent = false;
};

/// `arguments`: of this process. The codes of ReadAzkabanStep(), whose message names the file of
/// properties and its line.
absl::StatusOr<Workflow> FindWorkflow(const VariableLookup& variables,
                                      const std::vector<std::string>& arguments);

}  // namespace tony::client
