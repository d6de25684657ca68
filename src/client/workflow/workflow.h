// Recognizes the workflow system that runs this process as a step.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/workflow/azkaban.h"
#include "hadoop/config/configuration.h"
#include "jobfile/configuration/configuration_loader.h"

namespace tony::client {

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
  bool describes_job = false;  ///< its properties may be all that there is about the job
  std::string job_file;        ///< empty: none
  std::vector<jobfile::Override> overrides;  ///< weaker than those of the command line
  std::vector<hadoop::GivenValue> hadoop;    ///< of the client's Hadoop configuration
  std::vector<std::string> notes;            ///< sentences for the user
  std::string outputs;        ///< the file for what the following steps get; empty: none
  std::string output_prefix;  ///< begins the names of those outputs
  /// A job whose workflow is gone is stopped at once, because nobody will adopt it.
  bool stops_with_parent = false;
};

/// `job`: texts that distinguish the job from others of the same step, where the system does not.
/// `working_folder`: absolute. InvalidArgument – the system's file of properties cannot be used;
/// the message names it and its line.
absl::StatusOr<Workflow> FindWorkflow(const EnvironmentLookup& variables,
                                      const std::vector<std::string>& job,
                                      const std::string& working_folder);

}  // namespace tony::client
