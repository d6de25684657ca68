// URLs of files that nodes fetch for a job.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "backend/yarn/launch_request.h"
#include "hadoop/rpc/cluster_addresses.h"

namespace tony::backend {

/// A plain value.
struct ResourceUrl {
  std::string scheme;     ///< in small letters
  std::string authority;  ///< "host:port", a name, or nothing
  std::string path;       ///< absolute

  /// Whether it is of `hdfs`: by its RPC or, webhdfs:, by its web address. hdfs: without an
  /// authority is.
  bool IsOf(const hadoop::NameService& hdfs) const;

  /// For a node to find by itself, which compares neither size nor time, and keeps it for the
  /// application only: of the next file at the same URL it would not know. InvalidArgument – there
  /// is no host.
  absl::StatusOr<LocalResource> AsItIs() const;
};

/// Reads "hdfs://host:8020/path", "hdfs:///path", "http://host/path". InvalidArgument – it is no
/// such URL, or has a query, which YARN cannot hand on.
absl::StatusOr<ResourceUrl> ParseResourceUrl(const std::string& url);

}  // namespace tony::backend
