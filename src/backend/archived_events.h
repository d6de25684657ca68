// A job's events as they are kept on storage where files do not grow.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "backend/job_files.h"

namespace tony::backend {

/// Of files "00000001.jsonl", "00000002.jsonl", …, whole lines each, which never change.
inline constexpr char kEventFolder[] = "events";

/// All lines that are kept, oldest first; none where there is no such folder. `folder`: of the job
/// in `files`, where they are not the job's own. Codes of JobFiles.
absl::StatusOr<std::string> ReadArchivedEvents(JobFiles& files, const std::string& folder = "");

}  // namespace tony::backend
