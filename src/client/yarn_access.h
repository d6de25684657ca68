// The way from a configuration of ours to a YARN cluster.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "backend/yarn/yarn_cluster.h"
#include "client/environment.h"
#include "core/job/verdict.h"
#include "spec/yarn_settings.h"

namespace tony::client {

/// The cluster that tony.yarn.conf-dir or else the environment names. FailedPrecondition – neither
/// does; otherwise the codes of backend::YarnCluster::Find.
absl::StatusOr<backend::YarnCluster> FindCluster(const Environment& environment,
                                                 const spec::YarnSettings& yarn);

/// Of a job whose application YARN was asked to kill, and whose ApplicationMaster has not said it.
core::Verdict KilledByYarn(const std::string& diagnostics);

}  // namespace tony::client
