// Logs of an application that has ended, from the files into which YARN collects them.
#pragma once

#include <map>
#include <set>
#include <string>

#include "backend/job_folder.h"
#include "backend/yarn/yarn_cluster.h"

namespace tony::client {

/// What was found. A plain value.
struct CollectedLogs {
  std::set<std::string> containers;  ///< whose logs were copied whole
  std::string missing;               ///< what cannot be read, and why; empty: all could be
  std::string absent;                ///< why logs of other containers are not among them (yet)
};

/// Copies the logs of tasks' containers and of the ApplicationMasters, as far as they are there,
/// into `folder`, laid out like a job's on this machine. `tasks`: the folder of each container's
/// task ("worker-0"), by the container's id. Blocks.
CollectedLogs CopyCollectedLogs(const backend::YarnCluster& cluster, const std::string& application,
                                const std::map<std::string, std::string>& tasks,
                                const backend::JobFolder& folder);

}  // namespace tony::client
