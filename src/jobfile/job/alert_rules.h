// Rules for the keys of alerts.
#pragma once

#include "jobfile/configuration/configuration.h"
#include "jobfile/job/build_result.h"

namespace tony::jobfile {

/// Adds the problems of `tony.alerts.*`: addresses on the command line, unknown events, and, with
/// file checks, a secret file to which others have access.
void CheckAlerts(const Configuration& configuration, FileChecks file_checks, BuildResult* result);

}  // namespace tony::jobfile
