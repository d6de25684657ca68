// The way from a configuration of ours to a YARN cluster.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "backend/yarn/application_client.h"
#include "backend/yarn/yarn_cluster.h"
#include "client/cli/environment.h"
#include "core/record/verdict.h"
#include "jobfile/job/yarn_settings.h"

namespace tony::client {

/// Of an ApplicationMaster on another machine: one that is there answers pings.
inline constexpr std::chrono::seconds kMasterSilenceLimit{20};

/// The cluster that tony.yarn.conf-dir or else the environment names. FailedPrecondition – neither
/// does; otherwise the codes of backend::YarnCluster::Find.
absl::StatusOr<backend::YarnCluster> FindCluster(const Environment& environment,
                                                 const jobfile::YarnSettings& yarn);

/// Of a job of which nothing but its application's report can be had: one that YARN was asked to
/// kill, or whose ApplicationMaster told YARN the end. Nothing where the report does not say it.
std::optional<core::Verdict> VerdictOf(const backend::ApplicationReport& report);

/// YARN's sentences, which have lines, and empty ones among them, as one.
std::string DiagnosticsOf(const backend::ApplicationReport& report);

}  // namespace tony::client
