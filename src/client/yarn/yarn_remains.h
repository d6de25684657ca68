// Removes from a cluster's file system what only the ApplicationMasters of ended jobs would have.
#pragma once

#include <stop_token>

#include "absl/status/statusor.h"
#include "backend/yarn/yarn_cluster.h"
#include "common/clock.h"

namespace tony::client {

/// Programs, certificates and journals of the user's newest jobs that YARN says are over, or that
/// were this cluster's and that it has not known for a day: those of which the last
/// ApplicationMaster was killed. Their histories and checkpoints stay. `stop`: looked at between
/// two calls; what is left then is left for the next time. Returns how many jobs had remains.
/// Blocks. The codes of backend::JobFiles and of backend::ApplicationClient::Report.
absl::StatusOr<int> RemoveRemainsOnCluster(const backend::YarnCluster& cluster, const Clock& clock,
                                           const std::stop_token& stop);

}  // namespace tony::client
