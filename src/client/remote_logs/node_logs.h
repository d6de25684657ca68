// Logs of containers, fetched from the nodes of a YARN cluster that have them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/remote_logs/log_folder.h"
#include "client/remote_logs/log_mirror.h"
#include "common/clock.h"
#include "hadoop/hdfs/http_client.h"
#include "history/job_logs.h"
#include "logs/container_logs.h"
#include "storage/job_folder.h"

namespace tony::client {

/// A folder of copies, which goes away with this object. Blocks. Not thread safe.
class NodeLogs {
 public:
  /// `kerberos`: nodes ask for the user's ticket. FailedPrecondition – libcurl is missing; errno
  /// codes.
  static absl::StatusOr<std::unique_ptr<NodeLogs>> Make(bool kerberos, Duration timeout);

  /// What is selected, as it is now. Unavailable – no node has any, with what the last one said;
  /// what only some have is copied, and missing() tells of the others.
  absl::Status Copy(const std::vector<LogOrigin>& origins, const history::LogSelection& selection);
  /// The same of one container, but for files that are as long as what there is of them; returns
  /// which files are missing, and why. Unavailable – its node does not answer, or with none of
  /// them, or several before did not: no further one is asked then; InvalidArgument – its address
  /// is none.
  absl::StatusOr<std::string> CopyFrom(const LogOrigin& origin,
                                       const history::LogSelection& selection);
  /// Which logs, or files of them, could not be copied, and why; empty: all were.
  const std::string& missing() const { return missing_; }

  /// Where the copies are, for what is had in another way.
  LogMirror& mirror() { return mirror_; }
  /// Laid out like a job's on this machine.
  const storage::JobFolder& folder() const { return mirror_.folder(); }

 private:
  NodeLogs(std::unique_ptr<LogFolder> folder, hadoop::HttpClient http, bool kerberos)
      : folder_(std::move(folder)),
        mirror_(storage::JobFolder(folder_->path())),
        http_(std::move(http)),
        kerberos_(kerberos) {}
  absl::Status CopyFile(const std::string& url, const LogOrigin& origin,
                        const logs::ContainerLogFile& file);
  absl::StatusOr<std::string> Get(const std::string& url);

  const std::unique_ptr<LogFolder> folder_;
  LogMirror mirror_;
  hadoop::HttpClient http_;
  const bool kerberos_;
  std::string missing_;
  int unreached_ = 0;  ///< questions since the last answer
};

}  // namespace tony::client
