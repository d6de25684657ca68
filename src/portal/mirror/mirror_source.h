// The places from which the portal copies jobs: a cluster, and history locations in an HDFS.
#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "backend/yarn/yarn_cluster.h"
#include "portal/mirror/hdfs_location.h"
#include "portal/mirror/job_mirror.h"

namespace tony::portal {

/// Finds a cluster. The token ends each call to it, now and later. Blocks. The codes of
/// backend::YarnCluster::Find().
using FindCluster =
    std::function<absl::StatusOr<backend::YarnCluster>(const std::stop_token& stop)>;

/// One of them. Plain data.
struct MirrorSource {
  std::string name;    ///< begins sentences: "The cluster", "hdfs://host:8020/history"
  std::string jobs;    ///< begins sentences: "The cluster's jobs"
  std::string folder;  ///< for the copies; each source has its own
  std::string rest;  ///< where those of its jobs are that are not copied, as the end of a sentence
  /// Opens it. The token ends each of its calls, now and later. Blocks.
  std::function<absl::StatusOr<JobMirror::Cluster>(const std::stop_token&)> open;
  FindCluster
      find_cluster;  ///< the cluster that collects the logs of its jobs; null: none is known
};

/// The user's jobs on a cluster. `index_folder`: the portal's, below which the copies are. open():
/// the codes of backend::YarnCluster::Find() and OpenStaging().
MirrorSource ClusterSource(const std::string& index_folder,
                           const backend::YarnClusterOptions& cluster,
                           const hadoop::Environment& environment);

/// The jobs of a history location. `hadoop`: for OpenHdfsLocation(), whose codes open() has.
MirrorSource LocationSource(const std::string& index_folder, const HdfsLocation& location,
                            const backend::YarnClusterOptions& hadoop,
                            const hadoop::Environment& environment);

}  // namespace tony::portal
