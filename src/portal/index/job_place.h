// Where a job of the portal lies.
#pragma once

#include <string>

#include "storage/job_folder.h"

namespace tony::portal {

/// Whether a folder of this name can be a job's: the name becomes a part of addresses. A folder
/// with a dot in front is being made or removed.
bool IsJobName(const std::string& name);

/// The folder of a job of `location`, which is the folder that holds `jobs`.
storage::JobFolder FolderOf(const std::string& location, const std::string& job_id);

}  // namespace tony::portal
