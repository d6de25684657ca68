// Runs the job of a step on this machine, or joins that of an earlier attempt.
#pragma once

#include "client/cli/environment.h"
#include "client/workflow/step.h"
#include "jobfile/job/job_builder.h"

namespace tony::client {

/// `step` has a key. Returns the exit status.
int RunLocalStep(Step& step, const Environment& environment, const jobfile::LoadedJob& job);

}  // namespace tony::client
