// Reads the logs of an application that has ended from the files into which YARN collects them.
#pragma once

#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backend/yarn/yarn_cluster.h"
#include "history/job_logs.h"
#include "history/log_mirror.h"

namespace tony::yarnlogs {

/// The result of CopyCollectedLogs(). A plain value.
struct CollectedLogs {
  std::set<std::string> containers;  ///< containers among `origins` whose logs were copied whole
  std::string missing;      ///< which files could not be read, and why; empty: all could be read
  std::string absent;       ///< why the logs of other containers are not among them (yet)
  bool found = false;       ///< YARN has collected something of the application
  bool unfinished = false;  ///< a node is still writing its file
  /// The first file that could not be read since nobody answered: Unavailable, DeadlineExceeded; or
  /// Cancelled – `stop` was requested, and no file was read after that.
  absl::Status broken_off;
};

/// Copies the selected logs of `origins` into `mirror`, as far as YARN has collected them. When the
/// ApplicationMaster's log is selected, logs of ApplicationMasters that are not in `origins` are
/// copied too. Ends early when the mirror is full. Blocks.
CollectedLogs CopyCollectedLogs(const backend::YarnCluster& cluster, const std::string& application,
                                const std::vector<history::LogOrigin>& origins,
                                const history::LogSelection& selection, history::LogMirror& mirror,
                                const std::stop_token& stop = {});

/// Which files there are to copy now: a text that differs when there are others. NotFound – YARN
/// has collected nothing (yet); otherwise the codes of YarnCluster::log_locations(), OpenLogs() and
/// hadoop::FileStore::List(). Blocks.
absl::StatusOr<std::string> ListCollectedLogs(const backend::YarnCluster& cluster,
                                              const std::string& application);

}  // namespace tony::yarnlogs
