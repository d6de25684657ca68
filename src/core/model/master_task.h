// A job without tasks runs its command in the ApplicationMaster's own container.
#pragma once

#include "core/model/job_description.h"
#include "core/model/task_id.h"

namespace tony::core {

/// Returns `job` unchanged when it has tasks; otherwise adds one task of the type kMasterTaskType
/// with the ApplicationMaster's command, files and resources. Such a job is never retried, as in
/// TonY.
JobDescription WithMasterTask(JobDescription job);

}  // namespace tony::core
