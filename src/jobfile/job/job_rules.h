// The second half of validation: rules for the job as a whole.
#pragma once

#include "jobfile/configuration/configuration.h"
#include "jobfile/job/build_result.h"

namespace tony::jobfile {

/// Adds the problems of a job whose description is otherwise complete: nothing to run, requirements
/// of its framework, unknown task types in lists, limits over all tasks, and values that YARN would
/// refuse.
void CheckJob(const Configuration& configuration, BuildResult* result);

}  // namespace tony::jobfile
