// The settings of a Horovod job and the environment variables of its processes.
#pragma once

#include "core/model/job_description.h"
#include "jobfile/configuration/configuration.h"

namespace tony::jobfile {

/// Builds the settings of a Horovod job. Only the variables whose key is set are set, so that
/// Horovod's defaults and autotuning apply to the others. HOROVOD_GLOO_TIMEOUT_SECONDS is always
/// set, since Horovod's default of 30 s is too short for containers that start at different times.
core::HorovodSettings BuildHorovodSettings(const Configuration& configuration);

}  // namespace tony::jobfile
