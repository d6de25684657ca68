// Finds where YARN keeps the logs of ended applications, once it has collected them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hadoop/config/configuration.h"
#include "hadoop/rpc/cluster_addresses.h"

namespace tony::backend {

/// A folder that has a folder for each user, in which `suffix` holds the user's logs. A plain
/// value.
struct LogLocation {
  std::optional<hadoop::NameService> hdfs;  ///< nullopt: on a disk that all nodes share
  std::string root;                         ///< absolute path; empty for "/"
  std::string suffix;
};

/// The locations given by yarn.log-aggregation.* and yarn.nodemanager.remote-app-log-dir…, or by
/// YARN's defaults; the likeliest first. Unimplemented – the logs are in a file system other than
/// HDFS or a disk. InvalidArgument, FailedPrecondition – as hadoop::FindNameService.
absl::StatusOr<std::vector<LogLocation>> FindLogLocations(
    const hadoop::Configuration& configuration);

/// The folders that may hold the logs of an application of `user`, one file per node: the layout of
/// Hadoop 3.3 and newer, and the older one. InvalidArgument – `application` is not an application
/// id.
absl::StatusOr<std::vector<std::string>> LogFolders(const LogLocation& location,
                                                    const std::string& user,
                                                    const std::string& application);

}  // namespace tony::backend
