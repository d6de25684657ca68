// The way from a configuration of ours to a YARN cluster.
#pragma once

#include "absl/status/statusor.h"
#include "backend/yarn/yarn_cluster.h"
#include "client/environment.h"
#include "spec/yarn_settings.h"

namespace tony::client {

/// The cluster that tony.yarn.conf-dir or else the environment names. FailedPrecondition – neither
/// does; otherwise the codes of backend::YarnCluster::Find.
absl::StatusOr<backend::YarnCluster> FindCluster(const Environment& environment,
                                                 const spec::YarnSettings& yarn);

}  // namespace tony::client
