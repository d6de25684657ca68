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

/// Bytes of a file. A plain value.
struct LogPiece {
  ContainerLogFile file;
  int64_t version = 0;  ///< of the file; with another one it was replaced, and comes from its start
  int64_t offset = 0;   ///< of the bytes in the file
  std::string bytes;    ///< empty only with `trouble`
  std::string trouble;  ///< why the file cannot be read at the moment; empty: it can
};

/// Gives every byte of each file once, in the order of the file. When bytes of a log came is given
/// before the bytes. Files that the program may have put in the place of logs (links, pipes) are
/// left out. That a file cannot be read is told once; it goes on with it when it can be again.
/// Keeps no file open between calls and holds one piece at a time. Not thread safe.
class LogFeed {
 public:
  using Wanted = std::function<bool(const ContainerLogFile&)>;

  /// The longest piece.
  static constexpr size_t kMostBytes = size_t{64} * 1024;

  /// Of the files in `folder` those that are `wanted`. `follow`: what is written from now on is
  /// noticed as well. The codes of FolderWatcher.
  static absl::StatusOr<std::unique_ptr<LogFeed>> Open(const std::string& folder, Wanted wanted,
                                                       bool follow);

  /// The next piece; nothing when there is no more at the moment. A file that grows all the time
  /// does not keep the others waiting.
  std::optional<LogPiece> Next();

  /// Of a feed that follows: readable when Next() may have something again.
  int fd() const { return watcher_->fd(); }

 private:
  /// What was given of one segment.
  struct Segment {
    int64_t version = 0;
    int64_t given = 0;
    int64_t times_given = 0;
    int64_t goal = -1;        ///< given up to here before it is others' turn; -1: not begun
    bool in_trouble = false;  ///< that it cannot be read was told
  };

  LogFeed(std::string folder, Wanted wanted) : folder_(std::move(folder)), wanted_(wanted) {}
  /// Notes which segments may have something new; false when none has.
  bool Look();
  void NoteAll();
  void Note(const std::string& name);
  /// What is to be told of a segment that cannot be read; nothing when it was.
  std::optional<LogPiece> Trouble(const ContainerLogFile& file, int error);
  /// The next piece of a segment or of its times.
  std::optional<LogPiece> ReadSegment(const ContainerLogFile& file);

  const std::string folder_;
  const Wanted wanted_;
  std::unique_ptr<os::FolderWatcher> watcher_;  ///< null: of one that does not follow
  std::map<ContainerLogFile, Segment> segments_;
  std::set<ContainerLogFile> noted_;  ///< segments that may have something new
};

}  // namespace tony::logs
