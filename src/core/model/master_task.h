// A job without tasks runs its command in the ApplicationMaster's own container.
#pragma once

#include "core/model/job_description.h"

namespace tony::core {

/// The name of that task's type.
inline constexpr char kMasterTaskType[] = "am";

/// Returns `job` unchanged when it has tasks; otherwise adds one task `am:0` with the
/// ApplicationMaster's command, files and resources. Such a job is never retried, as in TonY.
JobDescription WithMasterTask(JobDescription job);

}  // namespace tony::core
