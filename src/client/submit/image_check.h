// Checks the images of a job on this machine before the job is staged, and downloads missing ones.
#pragma once

#include "client/cli/environment.h"
#include "client/cli/options.h"
#include "jobfile/job/job_builder.h"

namespace tony::client {

/// Makes sure that this machine can run the job's containers: there is an engine, each image is
/// here and for this machine's processor, the sources of mounts exist, GPUs can be given to
/// containers, and tony's own runtime is unpacked. Downloads images that the engine does not have,
/// and tells how that goes on. Removes containers of jobs that are over. Returns 0, or the exit
/// status after it has printed what is wrong and what to do. Blocks; no effect if the job has no
/// images.
int PrepareImages(const SubmitOptions& options, const jobfile::LoadedJob& job);

}  // namespace tony::client
