// Lays a job's folder out: merged configuration, archives, certificates.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jobfile/job/job_builder.h"
#include "os/files/unique_fd.h"
#include "storage/job_folder.h"

namespace tony::client {

/// Makes `folder` (mode 0700) with everything that the ApplicationMaster needs to start, and
/// returns the lock on its am_guard(). That is held before the folder can be seen, so that one
/// whose guard nobody holds is nobody's: its client was killed, and what is in it may be removed
/// (job_remains.h). It is made in the folder that OpenLocalFolder() opens, and filled by
/// descriptors: whoever could replace one of the folders meanwhile gets nothing of it. After an
/// error the folder is removed again. AlreadyExists – there is such a job; InvalidArgument,
/// PermissionDenied – a file that cannot be packed, named; ResourceExhausted – the disk is full;
/// the codes of OpenLocalFolder().
absl::StatusOr<os::UniqueFd> StageJob(const jobfile::LoadedJob& job, const std::string& job_id,
                                      const storage::JobFolder& folder);

/// Removes archives and certificates of a job whose ApplicationMaster could not be started, or is
/// gone without having done so; its logs stay. The codes of os::RemoveTree.
absl::Status RemoveStaged(const storage::JobFolder& folder);

}  // namespace tony::client
