// Rules for the keys of alerts.
#pragma once

#include "jobfile/configuration/configuration.h"
#include "jobfile/job/build_result.h"

namespace tony::jobfile {

/// Adds the problems of `tony.alerts.*`: addresses on the command line, unknown events,
/// and proxies that tony cannot use.
void CheckAlerts(const Configuration& configuration, BuildResult* result);

}  // namespace tony::jobfile
