// Runs tony-submit, from the command line to the verdict.
#pragma once

#include "client/cli/environment.h"
#include "client/cli/options.h"

namespace tony::client {

/// Runs the command and returns its exit status: 0 succeeded, 1 the user's program failed, 2 bad
/// usage or a bad job file, 3 infrastructure, 4 killed, 5 can never fit.
int RunSubmit(const SubmitOptions& options, const Environment& environment);

}  // namespace tony::client
