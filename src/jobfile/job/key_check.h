// The first half of validation: checks of each key and each value by itself.
#pragma once

#include <string>
#include <vector>

#include "jobfile/configuration/configuration.h"
#include "jobfile/job/build_result.h"

namespace tony::jobfile {

/// A problem at the place where `key` was set last; at the job file if the key is not set.
Problem ProblemAt(const Configuration& configuration, const std::string& key,
                  const std::string& message, const std::string& remedy);

/// The names of the job's task types: those that have `instances`, in the order in which these were
/// set; then `tensorboard`, if `tony.tensorboard.command` or `tony.application.tensorboard-log-dir`
/// is set; then `driver` in a Horovod job.
std::vector<std::string> DeclaredTaskTypes(const Configuration& configuration);

/// Adds the problems and notes of all keys to `result`: unknown and refused keys, keys of unknown
/// task types, keys that are accepted with a note, malformed values, and files that cannot be read.
void CheckKeys(const Configuration& configuration, FileChecks file_checks, BuildResult* result);

}  // namespace tony::jobfile
