// The second half of validation: rules about the job as a whole.
#pragma once

#include "jobfile/configuration/configuration.h"
#include "jobfile/job/build_result.h"

namespace tony::jobfile {

/// Adds the problems of a job whose description is otherwise complete: its framework's demands,
/// task types that its lists name, limits over all tasks, and something to run at all.
void CheckJob(const Configuration& configuration, BuildResult* result);

}  // namespace tony::jobfile
