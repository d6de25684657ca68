// Copies a staged job into a cluster's file system, and describes how its ApplicationMaster is
// started there.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "backend/yarn/application_client.h"
#include "backend/yarn/yarn_cluster.h"
#include "common/clock.h"
#include "jobfile/job/job_builder.h"
#include "storage/job_folder.h"

namespace tony::client {

/// The facts about a job that its ApplicationMaster needs besides the configuration. Plain data.
struct YarnJobKind {
  bool detached = false;  ///< the job needs no client that follows it
  bool step = false;      ///< the job is a step of a workflow
};

/// Copies what StageJob() has made in `staged`; afterwards only the client's credentials in
/// `staged` are still needed. Files named by their digests, and the runtime, are copied once for
/// all of a user's jobs. The codes of storage::JobFiles and of hadoop::WebHdfs; NotFound – there is
/// no runtime. After an error RemoveFromCluster() removes what there is.
absl::StatusOr<backend::ApplicationRequest> StageOnCluster(
    const jobfile::LoadedJob& job, const std::string& job_id, const YarnJobKind& kind,
    const storage::JobFolder& staged, const backend::YarnCluster& cluster, const Clock& clock);

/// Removes all files of a job that has no ApplicationMaster to do it. The codes of
/// storage::JobFiles.
absl::Status RemoveFromCluster(const std::string& job_id, const backend::YarnCluster& cluster);

}  // namespace tony::client
