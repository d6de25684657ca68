// Runs the job of a step on this machine, or joins that of an earlier attempt.
#pragma once

#include <functional>
#include <memory>

#include "client/cli/environment.h"
#include "client/submit/local_job.h"
#include "client/workflow/step.h"
#include "jobfile/job/job_builder.h"

namespace tony::client {

/// Launches a new job as `launch` says; see LaunchLocalJob().
using Launcher =
    std::function<std::unique_ptr<LaunchedJob>(const LocalLaunch& launch, FailedLaunch& failed)>;

/// `step` has a key. Returns the exit status.
int RunLocalStep(Step& step, const Environment& environment, const jobfile::LoadedJob& job,
                 const Launcher& launcher);

}  // namespace tony::client
