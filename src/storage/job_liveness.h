// Tells whether a job's ApplicationMaster still runs, by the locks in the job's folder.
#pragma once

#include "storage/job_folder.h"

namespace tony::storage {

/// True while an ApplicationMaster holds the folder's lock, or a process is there to start one.
bool IsAlive(const JobFolder& folder);

}  // namespace tony::storage
