// Fetches logs of containers from the nodes of a YARN cluster that have them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/remote_logs/log_folder.h"
#include "common/clock.h"
#include "history/job_logs.h"
#include "history/log_mirror.h"
#include "http/http_client.h"
#include "logs/container_logs.h"
#include "storage/job_folder.h"

namespace tony::client {

/// A temporary folder of copies, removed with this object. Blocks. Not thread safe.
class NodeLogs {
 public:
  /// `kerberos`: nodes ask for the user's ticket. FailedPrecondition – libcurl is missing; errno
  /// codes.
  static absl::StatusOr<std::unique_ptr<NodeLogs>> Make(bool kerberos, Duration timeout);

  /// Copies the selected logs of `origins` as they are now. Unavailable – no node has any; the
  /// message is what the last node said. When only some nodes have logs, those are copied and
  /// missing() names the others.
  absl::Status Copy(const std::vector<history::LogOrigin>& origins,
                    const history::LogSelection& selection);
  /// Copies the selected logs of one container, except files whose copies are already as long as
  /// the files. Returns which files are missing, and why. Unavailable – its node does not answer,
  /// or has none of the files, or several questions in a row were not answered (then no further
  /// node is asked); InvalidArgument – the origin's URL is not a container's.
  absl::StatusOr<std::string> CopyFrom(const history::LogOrigin& origin,
                                       const history::LogSelection& selection);
  /// Which logs, or files of them, Copy() could not copy, and why; empty: all were copied.
  const std::string& missing() const { return missing_; }

  /// The mirror of the copies, for logs that come in other ways.
  history::LogMirror& mirror() { return mirror_; }
  /// The folder of the copies, laid out like a local job's folder.
  const storage::JobFolder& folder() const { return mirror_.folder(); }

 private:
  NodeLogs(std::unique_ptr<LogFolder> folder, http::HttpClient http, bool kerberos)
      : folder_(std::move(folder)),
        mirror_(storage::JobFolder(folder_->path())),
        http_(std::move(http)),
        kerberos_(kerberos) {}
  absl::Status CopyFile(const std::string& url, const history::LogOrigin& origin,
                        const logs::ContainerLogFile& file);
  absl::StatusOr<std::string> Get(const std::string& url);

  const std::unique_ptr<LogFolder> folder_;
  history::LogMirror mirror_;
  http::HttpClient http_;
  const bool kerberos_;
  std::string missing_;
  int unreached_ = 0;  ///< requests in a row without an answer
};

}  // namespace tony::client
