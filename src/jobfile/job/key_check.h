// The first half of validation: each key and each value by itself.
#pragma once

#include <string>
#include <vector>

#include "jobfile/configuration/configuration.h"
#include "jobfile/job/build_result.h"

namespace tony::jobfile {

/// The problem `message` at the place where `key` was set last; without a place when it is not set.
Problem ProblemAt(const Configuration& configuration, const std::string& key,
                  const std::string& message, const std::string& remedy);

/// The task types that have `instances`, in the order in which these were set; the type
/// `tensorboard` also exists, last, when `tony.tensorboard.command` or
/// `tony.application.tensorboard-log-dir` is set, and in a Horovod job, after all others, the type
/// `driver`.
std::vector<std::string> DeclaredTaskTypes(const Configuration& configuration);

/// Appends to `result` the problems and notes of all keys: unknown, refused, of a task type that
/// does not exist, accepted with a note, of the wrong form, naming a file that cannot be read.
void CheckKeys(const Configuration& configuration, FileChecks file_checks, BuildResult* result);

}  // namespace tony::jobfile
