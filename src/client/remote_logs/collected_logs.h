// Logs of an application that has ended, from the files into which YARN collects them.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "backend/yarn/yarn_cluster.h"
#include "client/remote_logs/log_mirror.h"
#include "history/job_logs.h"

namespace tony::client {

/// What was found. A plain value.
struct CollectedLogs {
  std::set<std::string> containers;  ///< of origins, whose logs were copied whole
  std::string missing;               ///< what cannot be read, and why; empty: all could be
  std::string absent;                ///< why logs of other containers are not among them (yet)
};

/// Copies what is selected of the logs of `origins`, and of ApplicationMasters also those that are
/// not among them, as far as it is there. Blocks.
CollectedLogs CopyCollectedLogs(const backend::YarnCluster& cluster, const std::string& application,
                                const std::vector<LogOrigin>& origins,
                                const history::LogSelection& selection, LogMirror& mirror);

}  // namespace tony::client
