// Builds the task types of a job from their keys.
#pragma once

#include "jobfile/configuration/configuration.h"
#include "jobfile/job/build_result.h"

namespace tony::jobfile {

/// Fills in `result->job.types` (those with at least one instance) and adds what is wrong with
/// them: no command, more instances than allowed, two files of one local name. Expects
/// `result->packaging` to be filled in.
void BuildTaskTypes(const Configuration& configuration, BuildResult* result);

/// The files of the task type or `am` called `owner`: those of all containers, then its own. Adds a
/// problem where two different files have one local name, or a file is called `venv` beside the
/// virtual environment.
std::vector<core::ResourceEntry> BuildFiles(const Configuration& configuration,
                                            const std::string& owner, BuildResult* result);

}  // namespace tony::jobfile
