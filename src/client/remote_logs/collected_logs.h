// Reads the logs of an application that has ended from the files into which YARN collects them.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "backend/yarn/yarn_cluster.h"
#include "history/job_logs.h"
#include "history/log_mirror.h"

namespace tony::client {

/// The result of CopyCollectedLogs(). A plain value.
struct CollectedLogs {
  std::set<std::string> containers;  ///< containers among `origins` whose logs were copied whole
  std::string missing;  ///< which files could not be read, and why; empty: all could be read
  std::string absent;   ///< why the logs of other containers are not among them (yet)
};

/// Copies the selected logs of `origins` into `mirror`, as far as YARN has collected them. When the
/// ApplicationMaster's log is selected, logs of ApplicationMasters that are not in `origins` are
/// copied too. Blocks.
CollectedLogs CopyCollectedLogs(const backend::YarnCluster& cluster, const std::string& application,
                                const std::vector<history::LogOrigin>& origins,
                                const history::LogSelection& selection, history::LogMirror& mirror);

}  // namespace tony::client
