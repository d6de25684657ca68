// Rules for keys that name files with secrets.
#pragma once

#include "jobfile/configuration/configuration.h"
#include "jobfile/job/build_result.h"

namespace tony::jobfile {

/// Adds the problems of such files: others than the owner have access to one, or there is no token
/// in that of `tony.metrics.token-file`.
void CheckSecretFiles(const Configuration& configuration, BuildResult* result);

}  // namespace tony::jobfile
