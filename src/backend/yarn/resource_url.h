// URLs of files that nodes fetch for a job.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "backend/yarn/launch_request.h"
#include "hadoop/rpc/cluster_addresses.h"

namespace tony::backend {

/// The parts of a URL. A plain value.
struct ResourceUrl {
  std::string scheme;     ///< in lower case
  std::string authority;  ///< "host:port", a name service, or empty
  std::string path;       ///< absolute

  /// Whether the URL belongs to `hdfs`: by its RPC address or, for webhdfs:, by its web address. An
  /// hdfs: URL without an authority belongs to it.
  bool IsOf(const hadoop::NameService& hdfs) const;

  /// The resource for a node to find by itself. The node compares neither size nor time and keeps
  /// the file for this application only, because it would not notice a new file at the same URL.
  /// InvalidArgument – the URL has no host.
  absl::StatusOr<LocalResource> AsItIs() const;
};

/// Parses "hdfs://host:8020/path", "hdfs:///path", "http://host/path". InvalidArgument – not such a
/// URL, or one with a query, which YARN cannot pass on.
absl::StatusOr<ResourceUrl> ParseResourceUrl(const std::string& url);

}  // namespace tony::backend
