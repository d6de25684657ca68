// What this machine can give to the local backend's jobs: facts of the machine, replaced by
// settings where there are any.
#pragma once

#include "core/schedule/capacity.h"
#include "jobfile/job/build_result.h"
#include "os/machine/machine.h"

namespace tony::backend {

/// `with_gpus`: the GPUs are wanted, too; unless their number is declared this runs nvidia-smi,
/// which can take seconds. A tool that is missing or fails means no GPUs and a note why.
core::Capacity ProbeCapacity(const jobfile::LocalSettings& settings, const os::Machine& machine,
                             bool with_gpus);

}  // namespace tony::backend
