// Translates the properties of an Azkaban step into a job, as TonY's job type did.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hadoop/config/configuration.h"
#include "jobfile/configuration/configuration_loader.h"
#include "jobfile/properties/java_properties.h"

namespace tony::client {

/// The job that a step's properties describe. Plain data.
struct AzkabanJob {
  std::string job_file;  ///< property conf_file; empty: none
  /// In the order in which they apply; they are weaker than those of the command line.
  std::vector<jobfile::Override> overrides;
  std::vector<hadoop::GivenValue> hadoop;  ///< of the client's Hadoop configuration
  std::vector<std::string> notes;          ///< sentences for the user that stop nothing
};

/// Translates `properties`, which were read from `path`:
///
/// ```
/// tony.*                                        configuration keys
/// executes, task_params, src_dir, python_venv,  options of tony-submit; without src_dir a folder
///   python_binary_path, hdfs_classpath,         "src" is taken where there is one
///   conf_file
/// worker_env.NAME                               a variable of the user's processes
/// azkaban.input.dataset, azkaban.output.dataset AZKABAN_INPUT_DATASET, AZKABAN_OUTPUT_DATASET
/// main.args                                     more options; they win
/// azkaban.flow.execid, azkaban.flow.flowid,     tags of the application
///   azkaban.flow.projectname, azkaban.webserverhost
/// hadoop-inject.KEY                             the client's Hadoop configuration
/// ```
/// All others are ignored. A value that is one quoted word as Azkaban reads command lines loses
/// its quotes. `working_folder`: the process's, absolute. InvalidArgument – a property cannot be
/// used; the message names `path` and the line.
absl::StatusOr<AzkabanJob> TranslateAzkabanJob(const std::vector<jobfile::JavaProperty>& properties,
                                               const std::string& path,
                                               const std::string& working_folder);

/// The words of `text` as Azkaban splits command lines: at spaces only, with `'` and `"` as quotes,
/// without escapes.
std::vector<std::string> SplitAzkabanWords(const std::string& text);

}  // namespace tony::client
