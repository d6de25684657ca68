// Reads one log, line by line and with times, as if its segments were one file.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "logs/log_segments.h"

namespace tony::logs {

/// One line of a log, without its '\n'.
struct LogLine {
  std::string text;
  int64_t unix_millis = 0;  ///< when its first byte was read from the program; 0: not known
};

/// When the bytes of one segment came, looked up in the order of their offsets. Not thread safe.
class LogTimes {
 public:
  explicit LogTimes(std::string path) : path_(std::move(path)) {}

  /// The time of the byte at `offset`, which is not smaller than that of the last call; 0 without
  /// any. To be asked for bytes that were read already: their record was written before them.
  int64_t At(int64_t offset);
  /// There may be new records.
  void LookAgain() { at_end_ = false; }

 private:
  std::string path_;
  int64_t unix_millis_ = 0;       // of the record that holds
  std::vector<LogTime> records_;  // read ahead
  size_t next_ = 0;               // of records_
  int64_t records_read_ = 0;      // of the file
  bool at_end_ = false;           // all were read
};

/// Follows a log from segment to segment (logs/log_segments.h). A segment that was dropped before
/// it was read to its end is gone on with at the line that says so. A file that was replaced or cut
/// short is read from its start again. Times never go back within a log. Keeps no descriptor open
/// between calls. Not thread safe.
class LogReader {
 public:
  /// A longer line comes in pieces of about this size.
  static constexpr size_t kMaxLineBytes = 64 << 10;

  /// `path` is that of the first segment.
  explicit LogReader(std::string path) : path_(std::move(path)), times_("") {}

  /// Passes over all but the last `lines` lines that are there now; a last line without '\n'
  /// counts. To be called before the first Next().
  void SkipToLast(int64_t lines);
  /// Passes over most of what came before `unix_millis`. To be called before the first Next().
  void SkipToTime(int64_t unix_millis);

  /// The next complete line; false when there is none now.
  bool Next(LogLine* line);
  /// As Next(), and then what is left of an incomplete last line.
  bool Finish(LogLine* line);

 private:
  void GoTo(int number, int64_t offset);
  /// Reads more into pending_; false when there is no more now.
  bool Fill();
  /// Reads from the present segment; negative when it is gone.
  ssize_t ReadSegment();
  void Take(size_t size, size_t line_end, LogLine* line);

  std::string path_;
  int number_ = 0;      // of the segment that is read; 0: none yet
  ino_t inode_ = 0;     // of its file; 0: not opened yet
  int64_t offset_ = 0;  // of its first byte that was not read
  LogTimes times_;
  std::string pending_;     // read, and not yet given out
  size_t begin_ = 0;        // of the next line in pending_
  size_t searched_ = 0;     // no '\n' before this in pending_
  bool cut_ = false;        // what is pending will not be continued: it is a line
  int64_t line_time_ = -1;  // of the line at begin_; -1: not looked up yet
  int64_t newest_ = 0;      // time that was given out last
};

}  // namespace tony::logs
