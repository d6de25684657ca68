// The second half of validation, for Horovod jobs: what their processes and their driver need.
#pragma once

#include "jobfile/configuration/configuration.h"
#include "jobfile/job/build_result.h"

namespace tony::jobfile {

/// Adds the problems and notes of a job whose description is otherwise complete: task types that
/// Horovod's processes cannot be run as, what tony's driver has no use for or a driver of the
/// user's lacks, time limits that contradict each other, and keys without effect. Whether there
/// are any processes CheckJob() asks.
void CheckHorovodJob(const Configuration& configuration, BuildResult* result);

/// Adds a problem for each type that is to shrink and grow in a job of another framework.
void CheckNothingIsElastic(const Configuration& configuration, BuildResult* result);

/// Adds a note for each key of Horovod's in a job of another framework.
void NoteUnusedHorovodKeys(const Configuration& configuration, BuildResult* result);

}  // namespace tony::jobfile
