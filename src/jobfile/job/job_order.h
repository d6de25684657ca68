// The order of task types: dependencies between them, and time limits after groups of them.
#pragma once

#include "jobfile/configuration/configuration.h"
#include "jobfile/job/build_result.h"

namespace tony::jobfile {

/// Fills in `depends_on` of `result->job.types` and `result->job.dependency_timeouts`, and adds the
/// problems of these keys:
/// 1. tony.<type>.depends-on: unknown types, and types that wait for each other.
/// 2. tony.application.prepare-stage and training-stage: each type of the second depends on all
///    tracked types of the first. A stage that is not set has all types that are not in the other
///    one. If both are set, they must name every type exactly once. Sidecars may be left out; they
///    then belong to neither.
/// 3. tony.application.dependency.<type>.timeout.after.<group> and .ignored, with the groups of
///    tony.application.group.<group>: unknown types and groups, a type that is in the group itself,
///    `.ignored` without a limit.
/// A type that the job file sets to no instances is left out, with a note. `result->job.types` must
/// be filled in.
void BuildTaskOrder(const Configuration& configuration, BuildResult* result);

}  // namespace tony::jobfile
