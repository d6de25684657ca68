// Makes a job's folder with the merged configuration, archives and certificates.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jobfile/job/job_builder.h"
#include "os/files/unique_fd.h"
#include "storage/job_folder.h"

namespace tony::client {

/// Makes `folder` (mode 0700) with everything that the ApplicationMaster needs to start, and
/// returns the lock on its am_guard(). The lock is held before the folder gets its name. So a
/// folder whose guard nobody holds has lost its client, and its contents may be removed
/// (job_remains.h). The folder is made inside the folder that OpenLocalFolder() opens, and filled
/// through descriptors: another user who replaces one of the folders meanwhile gets none of its
/// contents. After an error the folder is removed again. AlreadyExists – there is such a job;
/// InvalidArgument, PermissionDenied – a file that cannot be packed, named; ResourceExhausted – the
/// disk is full; the codes of OpenLocalFolder().
absl::StatusOr<os::UniqueFd> StageJob(const jobfile::LoadedJob& job, const std::string& job_id,
                                      const storage::JobFolder& folder);

/// Removes archives and certificates of a job whose ApplicationMaster could not be started, or is
/// gone without having removed them; the job's logs stay. The codes of os::RemoveTree.
absl::Status RemoveStaged(const storage::JobFolder& folder);

}  // namespace tony::client
