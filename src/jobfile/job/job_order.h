// Which task types wait for which others, and which have limited time after others have ended.
#pragma once

#include "jobfile/configuration/configuration.h"
#include "jobfile/job/build_result.h"

namespace tony::jobfile {

/// Fills in `depends_on` of `result->job.types` and `result->job.dependency_timeouts`, and adds
/// what is wrong with the keys that say so:
/// 1. tony.<type>.depends-on: types that there are none of, and types that wait for each other.
/// 2. tony.application.prepare-stage and training-stage: each type of the second depends on all
///    tracked types of the first. One that is not set has all types that the other one has not.
///    Where both are set they have to name every type exactly once. Sidecars may be left out, and
///    then belong to neither.
/// 3. tony.application.dependency.<type>.timeout.after.<group> and .ignored, with the groups of
///    tony.application.group.<group>: types and groups that there are none of, a type that is in
///    the group itself, `.ignored` without a limit.
/// A type that the job file sets to no instances is left out, with a note. Expects the job's types
/// to be filled in.
void BuildTaskOrder(const Configuration& configuration, BuildResult* result);

}  // namespace tony::jobfile
