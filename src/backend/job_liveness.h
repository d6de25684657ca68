// Tells whether a job's ApplicationMaster still runs, by the locks in the job's folder.
#pragma once

#include "backend/job_folder.h"

namespace tony::backend {

/// True while an ApplicationMaster holds the folder's lock, or somebody is there to start one.
bool IsAlive(const JobFolder& folder);

}  // namespace tony::backend
