// Builds the task types of a job from their keys.
#pragma once

#include "jobfile/configuration/configuration.h"
#include "jobfile/job/build_result.h"

namespace tony::jobfile {

/// Fills in `result->job.types`, those with at least one instance, and adds their problems: no
/// command, more instances than allowed, two files with one local name. `result->packaging` must be
/// filled in.
void BuildTaskTypes(const Configuration& configuration, BuildResult* result);

/// The files of `owner`, a task type or `am`: those of all containers, then its own. Adds a problem
/// if two different files have one local name, or if a file is called `venv` and there is a virtual
/// environment.
std::vector<core::ResourceEntry> BuildFiles(const Configuration& configuration,
                                            const std::string& owner, BuildResult* result);

}  // namespace tony::jobfile
