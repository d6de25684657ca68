// A job without tasks runs its command in the ApplicationMaster's own container.
#pragma once

#include "core/model/job_description.h"

namespace tony::core {

/// The type's name of that one task.
inline constexpr char kMasterTaskType[] = "am";

/// `job` itself when it has tasks; else with one task `am:0`, which has the ApplicationMaster's
/// command, files and resources. Such a job is never retried, as in TonY.
JobDescription WithMasterTask(JobDescription job);

}  // namespace tony::core
