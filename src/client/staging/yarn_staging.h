// Lays a job out in a cluster's file system, and says how its ApplicationMaster is started there.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "backend/yarn/application_client.h"
#include "backend/yarn/yarn_cluster.h"
#include "common/clock.h"
#include "jobfile/job/job_builder.h"
#include "storage/job_folder.h"

namespace tony::client {

/// Copies what StageJob() has made in `staged`, which is then of no use but for the client's
/// credentials. What is known by its digest, and the runtime, are copied once for all of a user's
/// jobs. The codes of backend::JobFiles and of hadoop::WebHdfs; NotFound – there is no runtime.
/// After an error RemoveFromCluster() removes what there is.
absl::StatusOr<backend::ApplicationRequest> StageOnCluster(const jobfile::LoadedJob& job,
                                                           const std::string& job_id, bool detached,
                                                           const storage::JobFolder& staged,
                                                           const backend::YarnCluster& cluster,
                                                           const Clock& clock);

/// For a job that has no ApplicationMaster to do it: all of it. The codes of backend::JobFiles.
absl::Status RemoveFromCluster(const std::string& job_id, const backend::YarnCluster& cluster);

}  // namespace tony::client
