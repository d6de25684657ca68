// Where YARN keeps the logs of applications that have ended, once it has collected them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hadoop/config/configuration.h"
#include "hadoop/rpc/cluster_addresses.h"

namespace tony::backend {

/// A folder below which each user has one called `suffix` for logs. A plain value.
struct LogPlace {
  std::optional<hadoop::NameService> hdfs;  ///< nothing: a disk that all nodes have
  std::string root;                         ///< absolute; empty for "/"
  std::string suffix;
};

/// From yarn.log-aggregation.* and yarn.nodemanager.remote-app-log-dir…, or YARN's defaults; the
/// likeliest first. Unimplemented – they are in another file system than HDFS and a disk;
/// InvalidArgument, FailedPrecondition – as hadoop::FindNameService.
absl::StatusOr<std::vector<LogPlace>> FindLogPlaces(const hadoop::Configuration& configuration);

/// The folders in which the logs of an application of `user` may be, a file for each node: of
/// Hadoop 3.3 and newer, and of older ones. InvalidArgument – it is no application's id.
absl::StatusOr<std::vector<std::string>> LogFolders(const LogPlace& place, const std::string& user,
                                                    const std::string& application);

}  // namespace tony::backend
