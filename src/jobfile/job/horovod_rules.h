// Validation of Horovod jobs: the rules for their processes and their driver.
#pragma once

#include "jobfile/configuration/configuration.h"
#include "jobfile/job/build_result.h"

namespace tony::jobfile {

/// Adds the problems and notes of a Horovod job whose description is otherwise complete: settings
/// of task types that Horovod's processes cannot have, keys that tony's driver ignores or a user's
/// driver lacks, time limits that contradict each other, and keys without effect. CheckJob() checks
/// that there are processes.
void CheckHorovodJob(const Configuration& configuration, BuildResult* result);

/// For a job of another framework: adds a problem for each task type that is set to be elastic.
void CheckNothingIsElastic(const Configuration& configuration, BuildResult* result);

/// For a job of another framework: adds a note for each Horovod key that is set.
void NoteUnusedHorovodKeys(const Configuration& configuration, BuildResult* result);

}  // namespace tony::jobfile
