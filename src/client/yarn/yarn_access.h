// Finds the YARN cluster that the configuration means, and translates YARN's reports.
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

/// How long an ApplicationMaster on another machine may be silent: a living one answers pings.
inline constexpr std::chrono::seconds kMasterSilenceLimit{20};

/// The options that name the cluster, by tony.yarn.conf-dir or else by the environment.
/// FailedPrecondition – neither names one.
absl::StatusOr<backend::YarnClusterOptions> OptionsOfCluster(const Environment& environment,
                                                             const jobfile::YarnSettings& yarn);

/// The same, with an empty `conf_dir` where neither names the cluster.
backend::YarnClusterOptions HadoopOptions(const Environment& environment,
                                          const jobfile::YarnSettings& yarn);

/// Finds the cluster named by tony.yarn.conf-dir, or else by the environment. FailedPrecondition –
/// neither names one; otherwise the codes of backend::YarnCluster::Find.
absl::StatusOr<backend::YarnCluster> FindCluster(const Environment& environment,
                                                 const jobfile::YarnSettings& yarn);

/// The verdict of a job of which only the application's report is known: YARN was asked to kill it,
/// or its ApplicationMaster told YARN the end. Nothing where the report does not say how the job
/// ended.
std::optional<core::Verdict> VerdictOf(const backend::ApplicationReport& report);

/// YARN's diagnostics, which may have several lines and empty ones, as one line.
std::string DiagnosticsOf(const backend::ApplicationReport& report);

}  // namespace tony::client
