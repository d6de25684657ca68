// The steps of a submission to a YARN cluster.
#pragma once

#include "client/environment.h"
#include "client/options.h"
#include "spec/job_builder.h"

namespace tony::client {

/// Stages the job, submits it and follows it; returns tony-submit's exit status. Errors are
/// printed.
int RunYarnJob(const SubmitOptions& options, const Environment& environment,
               const spec::LoadedJob& job);

}  // namespace tony::client
