// Copies logs of containers into a folder that is laid out like a local job's folder.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "logs/log_feed.h"
#include "storage/job_folder.h"

namespace tony::history {

/// A container of a job that writes logs. A plain value.
struct LogOrigin {
  std::string task;    ///< the task as people write it, "worker:0"; "am" for the ApplicationMaster
  std::string folder;  ///< folder of the task's logs, "worker-0"; empty for the ApplicationMaster
  std::string container;  ///< the container's id; of an ApplicationMaster rpc::MasterContainer(),
                          ///< or its YARN container's id if it has no incarnation number
  std::string url;        ///< where the node shows the container's logs; empty: nowhere
  /// The place among the job's ApplicationMasters, or among the task's containers, from 1. 0: of a
  /// task's container, in the order in which they come.
  int order = 0;

  bool master() const { return folder.empty(); }
};

/// Writes pieces of logs into the folder. The place of a piece is computed from numbers; nothing
/// that the sender chooses becomes part of a path. Several containers of a task may have written
/// the same log (executor.log, for example): their segments are in the order that the origins
/// name, or else in that of their first bytes. Bytes that come again change nothing. What the
/// writers of the logs remove for their limits is removed here, too. Thread safe.
class LogMirror {
 public:
  /// A file of a log counts for this much, beside its bytes.
  static constexpr int64_t kFileBytes = 4096;

  /// `most_bytes`: all that is written, with kFileBytes for each file.
  explicit LogMirror(storage::JobFolder folder,
                     int64_t most_bytes = std::numeric_limits<int64_t>::max())
      : folder_(std::move(folder)), most_bytes_(most_bytes) {}

  const storage::JobFolder& folder() const { return folder_; }

  /// Writes the piece. InvalidArgument – the origin's folder is no task's; DataLoss – bytes before
  /// the piece have not come; OutOfRange – it would be more than the most bytes, as each piece
  /// after this one; Cancelled – after Close(); errno codes – it cannot be written. An empty piece
  /// makes an empty log.
  absl::Status Take(const LogOrigin& origin, const logs::LogPiece& piece);

  /// Ends all writing: once Close() has returned, the folder may be removed.
  void Close();

  /// The version of the copied part of a file; 0 when there is none.
  int64_t VersionOf(const LogOrigin& origin, const logs::ContainerLogFile& file) const;
  /// Whether a piece was left out, since it would have been more than the most bytes.
  bool full() const;
  /// Why a piece could not be written to this machine's disk, the first time: errno codes. OK – all
  /// could.
  absl::Status failure() const;
  /// How many bytes of a file have been copied.
  int64_t SizeOf(const LogOrigin& origin, const logs::ContainerLogFile& file) const;

 private:
  struct Copy {
    int64_t version = 0;
    int64_t size = 0;
  };
  using Key = std::pair<std::string, logs::ContainerLogFile>;  ///< the container and its file

  /// The path of the log's first segment.
  std::string LogPath(const LogOrigin& origin, const logs::ContainerLogFile& file) const;
  std::string PathOf(const LogOrigin& origin, const logs::ContainerLogFile& file);
  /// The number that is added to the log's segment numbers.
  int ShiftOf(const LogOrigin& origin, const logs::ContainerLogFile& file, const std::string& log);
  /// Removes what the writer has removed since it has begun this segment, or replaced it.
  void DropAsWriter(const LogOrigin& origin, const logs::ContainerLogFile& file, bool replaced);
  void Drop(const LogOrigin& origin, const logs::ContainerLogFile& file);
  static absl::Status MakeFirst(const std::string& log);
  /// Adds `bytes` to the copy at `path`, which is a file of the log whose first segment is `log`.
  static absl::Status Append(const std::string& log, const std::string& path, Copy& copy,
                             std::string_view bytes);

  const storage::JobFolder folder_;
  const int64_t most_bytes_;
  mutable std::mutex mutex_;  ///< guards the members below
  bool closed_ = false;
  bool full_ = false;  ///< a piece was left out
  int64_t written_ = 0;
  absl::Status failure_;
  std::map<Key, Copy> copies_;
  /// For each log's path and each container: the number added to the container's segment numbers.
  std::map<std::string, std::map<std::string, int>> shifts_;
};

}  // namespace tony::history
