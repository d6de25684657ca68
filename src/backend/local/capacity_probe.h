// Determines what this machine can give to the local backend's jobs: the machine's own values,
// overridden by settings.
#pragma once

#include "core/schedule/capacity.h"
#include "jobfile/job/build_result.h"
#include "os/machine/machine.h"

namespace tony::backend {

/// `with_gpus`: also count the GPUs. Unless the settings declare their number, this runs
/// nvidia-smi, which can take seconds. If the tool is missing or fails, the capacity has no GPUs
/// and a note that says why.
core::Capacity ProbeCapacity(const jobfile::LocalSettings& settings, const os::Machine& machine,
                             bool with_gpus);

}  // namespace tony::backend
