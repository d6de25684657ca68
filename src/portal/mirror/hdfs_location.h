// A history location in an HDFS: a folder of one user with the jobs' folder in it.
#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "backend/yarn/yarn_cluster.h"
#include "portal/mirror/job_mirror.h"

namespace tony::portal {

/// The parts of such a location. A plain value.
struct HdfsLocation {
  bool web = false;       ///< `authority` is a NameNode's web address: webhdfs://
  std::string authority;  ///< "host:port", a name service, or empty: that of fs.defaultFS
  std::string path;       ///< absolute, without a slash at its end

  std::string ToString() const;
  bool operator==(const HdfsLocation&) const = default;
};

/// Parses "hdfs://host:8020/path", "hdfs://service/path", "hdfs:///path" and
/// "webhdfs://host:9870/path". InvalidArgument – it is none of these.
absl::StatusOr<HdfsLocation> ParseHdfsLocation(const std::string& text);

/// Opens it. `hadoop.conf_dir` may be empty, if the location names its NameNode: the cluster is one
/// without Kerberos then, with the web address at its usual port. A configured ResourceManager is
/// asked about the jobs, which need not be its own. `stop`: ends each call, now and later.
/// FailedPrecondition – hdfs:/// without a default file system. NotFound – there is no such folder.
/// PermissionDenied – another user owns the folder or may write there: what lies there is shown as
/// this user's own; Cluster::check_owner has the same codes. Otherwise the codes of
/// hadoop::Configuration and of hadoop::WebHdfs. Blocks.
absl::StatusOr<JobMirror::Cluster> OpenHdfsLocation(const HdfsLocation& location,
                                                    const backend::YarnClusterOptions& hadoop,
                                                    const hadoop::Environment& environment,
                                                    const std::stop_token& stop);

}  // namespace tony::portal
