// Submits a job to a YARN cluster and follows it.
#pragma once

#include "client/cli/environment.h"
#include "client/cli/options.h"
#include "client/workflow/step.h"
#include "jobfile/job/job_builder.h"

namespace tony::client {

/// Stages the job, submits it and follows it; returns tony-submit's exit status. Errors are
/// printed. `step`: null unless the submission is a step of a workflow.
int RunYarnJob(const SubmitOptions& options, const Environment& environment,
               const jobfile::LoadedJob& job, Step* step);

}  // namespace tony::client
