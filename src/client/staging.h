// Lays a job's folder out: merged configuration, archives, certificates.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "backend/job_folder.h"
#include "spec/job_builder.h"

namespace tony::client {

/// Makes `folder` (mode 0700) with everything that the ApplicationMaster needs to start. After an
/// error the folder is removed again. AlreadyExists – there is such a job; InvalidArgument,
/// PermissionDenied – a file that cannot be packed, named; ResourceExhausted – the disk is full.
absl::Status StageJob(const spec::LoadedJob& job, const std::string& job_id,
                      const backend::JobFolder& folder);

/// Removes archives and certificates of a job whose ApplicationMaster could not be started, or is
/// gone without having done so; its logs stay. The codes of os::RemoveTree.
absl::Status RemoveStaged(const backend::JobFolder& folder);

}  // namespace tony::client
