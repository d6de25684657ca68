// Reads the logs in a container's folder piece by piece, as they grow.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "logs/container_logs.h"
#include "os/files/folder_watcher.h"

namespace tony::logs {

/// Some bytes of a file. A plain value.
struct LogPiece {
  ContainerLogFile file;
  int64_t version = 0;  ///< changes when the file was replaced; it is then given from its start
  int64_t offset = 0;   ///< offset of the bytes in the file
  std::string bytes;    ///< empty only with `trouble`
  std::string trouble;  ///< why the file cannot be read at the moment; empty: it can
};

/// Gives every byte of each file once, in the order of the file. The times of a log's bytes are
/// given before the bytes. Files with which the program may have replaced logs (links, pipes) are
/// left out. A file that cannot be read is reported once; the feed goes on with it when it can be
/// read again. Keeps no file open between calls and holds one piece at a time. Not thread safe.
class LogFeed {
 public:
  using Wanted = std::function<bool(const ContainerLogFile&)>;

  /// Largest size of a piece in bytes.
  static constexpr size_t kMostBytes = size_t{64} * 1024;

  /// Opens a feed of the `wanted` files in `folder`. `follow`: the feed also notices everything
  /// written from now on. The codes of FolderWatcher.
  static absl::StatusOr<std::unique_ptr<LogFeed>> Open(const std::string& folder, Wanted wanted,
                                                       bool follow);

  /// The next piece; nothing if there is none at the moment. A file that grows all the time does
  /// not keep the others waiting.
  std::optional<LogPiece> Next();

  /// For a feed that follows: readable when Next() may have something again.
  int fd() const { return watcher_->fd(); }

 private:
  /// Progress in one segment.
  struct Segment {
    int64_t version = 0;
    // offsets of the next byte of the log and of its times
    int64_t given = 0;
    int64_t times_given = 0;
    int64_t goal = -1;        ///< end of this turn, before other segments get theirs; -1: not begun
    bool in_trouble = false;  ///< its unreadability was reported
  };

  LogFeed(std::string folder, Wanted wanted) : folder_(std::move(folder)), wanted_(wanted) {}
  /// Notes the segments that may have something new; returns false if there is none.
  bool FindSegments();
  void NoteAll();
  void Note(const std::string& name);
  /// The report about a segment that cannot be read; nothing if it was reported before.
  std::optional<LogPiece> Trouble(const ContainerLogFile& file, int error);
  /// The next piece of a segment or of its times.
  std::optional<LogPiece> ReadSegment(const ContainerLogFile& file);

  const std::string folder_;
  const Wanted wanted_;
  std::unique_ptr<os::FolderWatcher> watcher_;  ///< null: the feed does not follow
  std::map<ContainerLogFile, Segment> segments_;
  std::set<ContainerLogFile> noted_;  ///< segments that may have something new
};

}  // namespace tony::logs
