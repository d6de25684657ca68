// What the processes of a Horovod job are told by its configuration.
#pragma once

#include "core/model/job_description.h"
#include "jobfile/configuration/configuration.h"

namespace tony::jobfile {

/// The settings of a Horovod job. Of Horovod's own variables those are set whose key is set, so
/// that Horovod's defaults and its autotuning hold for the others; HOROVOD_GLOO_TIMEOUT_SECONDS
/// always is, since Horovod's 30 s are too few for containers that start at different times.
core::HorovodSettings BuildHorovodSettings(const Configuration& configuration);

}  // namespace tony::jobfile
