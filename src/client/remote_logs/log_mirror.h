// Logs of containers, copied into a folder that is laid out as a local job's.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "logs/log_feed.h"
#include "storage/job_folder.h"

namespace tony::client {

/// A container of a job that writes logs. A plain value.
struct LogOrigin {
  std::string task;       ///< as people write it, "worker:0"; "am" for the ApplicationMaster
  std::string folder;     ///< of the task's logs, "worker-0"; empty for the ApplicationMaster
  std::string container;  ///< its id; of an ApplicationMaster rpc::MasterContainer(), or its
                          ///< container's if it has got no number
  std::string url;        ///< where its node shows its logs; empty: nowhere
  int order = 1;          ///< of an ApplicationMaster: its place among them, from 1

  bool master() const { return folder.empty(); }
};

/// Where a piece goes is computed from numbers, and from nothing that an origin's sender chooses.
/// When several containers of a task have written the same log, executor.log say, it goes on from
/// the one whose bytes came first to the next, as segments of higher numbers; ApplicationMasters'
/// in their order. Bytes that come again change nothing. Thread safe.
class LogMirror {
 public:
  explicit LogMirror(storage::JobFolder folder) : folder_(std::move(folder)) {}

  const storage::JobFolder& folder() const { return folder_; }

  /// Writes the piece. InvalidArgument – the origin's folder is no task's; DataLoss – what is
  /// before the piece has not come; Cancelled – after Close(); errno codes – it cannot be written.
  absl::Status Take(const LogOrigin& origin, const logs::LogPiece& piece);

  /// Nothing is written any more when it has returned: the folder may be removed.
  void Close();

  /// The version of what there is of a file; 0 when there is none.
  int64_t VersionOf(const LogOrigin& origin, const logs::ContainerLogFile& file) const;
  /// How many bytes there are of a file.
  int64_t SizeOf(const LogOrigin& origin, const logs::ContainerLogFile& file) const;

 private:
  struct Copy {
    int64_t version = 0;
    int64_t size = 0;
  };
  using Key = std::pair<std::string, logs::ContainerLogFile>;  ///< container and its file

  /// Of the first segment.
  std::string LogPath(const LogOrigin& origin, const logs::ContainerLogFile& file) const;
  std::string PathOf(const LogOrigin& origin, const logs::ContainerLogFile& file);
  /// By how much the numbers of the log's segments are moved.
  int ShiftOf(const LogOrigin& origin, const std::string& log);

  const storage::JobFolder folder_;
  mutable std::mutex mutex_;  ///< guards the rest
  bool closed_ = false;
  std::map<Key, Copy> copies_;
  /// By log's path: how many segment numbers each container's are moved by.
  std::map<std::string, std::map<std::string, int>> shifts_;
};

}  // namespace tony::client
