// Removes transient files of ended jobs from a cluster's file system when no ApplicationMaster is
// left to do it.
#pragma once

#include <stop_token>

#include "absl/status/statusor.h"
#include "backend/yarn/yarn_cluster.h"
#include "common/clock.h"

namespace tony::client {

/// Removes programs, certificates and journals of the user's newest jobs that YARN says are over,
/// or that belong to this cluster and that YARN has not known for a day. Their last
/// ApplicationMaster was killed before it could remove them. Histories and checkpoints stay.
/// `stop`: looked at between two calls; the rest is left for the next time. Returns how many jobs
/// had remains. Blocks. The codes of storage::JobFiles and of backend::ApplicationClient::Report.
absl::StatusOr<int> RemoveRemainsOnCluster(const backend::YarnCluster& cluster, const Clock& clock,
                                           const std::stop_token& stop);

}  // namespace tony::client
