// Logs of containers, fetched from the nodes of a YARN cluster that have them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backend/job_folder.h"
#include "common/clock.h"
#include "hadoop/http_client.h"

namespace tony::client {

/// A folder of copies, which goes away with this object. Blocks. Not thread safe.
class NodeLogs {
 public:
  /// A container whose executor wrote logs.
  struct Source {
    std::string task;  ///< as a folder's name, "worker-0"
    std::string url;   ///< TaskChanged::log_url
    std::string container;
  };

  /// `kerberos`: nodes ask for the user's ticket. FailedPrecondition – libcurl is missing; errno
  /// codes.
  static absl::StatusOr<std::unique_ptr<NodeLogs>> Make(bool kerberos, Duration timeout);
  ~NodeLogs();
  NodeLogs(const NodeLogs&) = delete;
  NodeLogs& operator=(const NodeLogs&) = delete;

  /// As they are now. Unavailable – no node has any, with what the last one said; what only some
  /// have is copied, and `missing()` tells of the others.
  absl::Status Copy(const std::vector<Source>& sources);
  const std::string& missing() const { return missing_; }
  /// Laid out like a job's on this machine.
  const backend::JobFolder& folder() const { return folder_; }

 private:
  NodeLogs(backend::JobFolder folder, hadoop::HttpClient http, bool kerberos)
      : folder_(std::move(folder)), http_(std::move(http)), kerberos_(kerberos) {}
  absl::Status CopyContainer(const Source& source);
  absl::Status CopyFile(const std::string& url, const std::string& path);
  absl::StatusOr<std::string> Get(const std::string& url);

  const backend::JobFolder folder_;
  hadoop::HttpClient http_;
  const bool kerberos_;
  std::string missing_;
};

}  // namespace tony::client
