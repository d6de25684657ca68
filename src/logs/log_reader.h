// Reads one log, line by line and with times, as if its segments were one file.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "logs/log_segments.h"

namespace tony::logs {

/// One line of a log, without its '\n'.
struct LogLine {
  std::string text;
  int64_t unix_millis = 0;    ///< when its first byte was read from the program; 0: not known
  int64_t whole_millis = 0;   ///< when its last byte was read from the program; 0: not known
  LogPosition position = {};  ///< of its first byte
};

/// The times of one segment's bytes, looked up in the order of their offsets. Not thread safe.
class LogTimes {
 public:
  /// `first`: number of the first record to look at, from 0. Bytes before it have no time.
  explicit LogTimes(std::string path, int64_t first = 0)
      : path_(std::move(path)), records_read_(first) {}

  /// The time of the byte at `offset`; 0 if there is no record. `offset` must not be smaller than
  /// in the last call. Ask only for bytes that were read already: their record was written before
  /// them.
  int64_t At(int64_t offset);
  /// Allows the next At() to look for new records.
  void LookAgain() { at_end_ = false; }

 private:
  std::string path_;
  int64_t unix_millis_ = 0;       // time of the current record
  std::vector<LogTime> records_;  // records read ahead
  size_t next_ = 0;               // index of the next record in records_
  int64_t records_read_;          // number of the next record to read from the file
  bool at_end_ = false;           // no record was left at the last read
};

/// Follows a log from segment to segment (logs/log_segments.h). If a segment is dropped before it
/// was read to its end, the reader goes on at the line that reports the drop. A file that was
/// replaced or truncated is read again from its start. Times never go back within a log. Keeps no
/// descriptor open between calls. Not thread safe.
class LogReader {
 public:
  /// A longer line comes in pieces of about this size in bytes.
  static constexpr size_t kMaxLineBytes = 64 << 10;

  /// `path`: the path of the log's first segment.
  explicit LogReader(std::string path) : path_(std::move(path)), times_("") {}

  /// Skips all but the last `lines` lines that exist now; a last line without '\n' counts. Call it
  /// before the first Next().
  void SkipToLast(int64_t lines);
  /// Skips most of the lines older than `unix_millis`. Call it before the first Next().
  void SkipToTime(int64_t unix_millis);
  /// Skips most of the lines that were whole before `unix_millis`, and none that was not. Call it
  /// before the first Next().
  void SkipToWhole(int64_t unix_millis);

  /// The number of bytes that exist now and were not given out yet.
  int64_t Unread() const;
  /// Part of a log that was not given out.
  struct LeftOut {
    int64_t lines = 0;
    int64_t bytes = 0;
  };
  /// Leaves out whole lines until at most about `keep` bytes are unread; what was left out is
  /// counted.
  LeftOut LeaveOutAllBut(int64_t keep);

  /// Passes over the next lines that were whole before `whole_millis`, and over `most` of those
  /// that were whole at that time; returns how many these were. An incomplete last line is one with
  /// `open_end`. Copies nothing, so it is much faster than reading lines. `stop` is asked now and
  /// then, unless it is null; true ends it.
  int64_t PassOver(int64_t whole_millis, int64_t most, bool open_end,
                   const std::function<bool()>& stop);

  /// The next complete line; false if there is none now.
  bool Next(LogLine* line);
  /// Like Next(), and at the end returns the rest of an incomplete last line.
  bool Finish(LogLine* line);

 private:
  void GoTo(int number, int64_t offset);
  /// Reads more into pending_; false if there is no more now.
  bool Fill();
  /// Reads from the current segment; negative if it is gone.
  ssize_t ReadSegment();
  /// The end in pending_ of the next line with its '\n', and of its text; false: there is none now.
  bool FindEnd(size_t* end, size_t* text_end);
  /// When the pending line that ends at `end` was whole.
  int64_t WholeMillis(size_t end);
  void Take(size_t end, size_t text_end, LogLine* line);
  /// The pending bytes before `end` were given out, or left out.
  void GiveOut(size_t end);

  std::string path_;
  int number_ = 0;      // number of the current segment; 0: none yet
  ino_t inode_ = 0;     // inode of its file; 0: not opened yet
  int64_t offset_ = 0;  // offset of its first unread byte
  LogTimes times_;
  std::string pending_;       // bytes read but not yet given out
  size_t begin_ = 0;          // start of the next line in pending_
  size_t searched_ = 0;       // pending_ has no '\n' before this
  bool cut_ = false;          // the pending bytes will not be continued: they are a line
  int64_t line_time_ = -1;    // time of the line at begin_; -1: not looked up yet
  LogPosition line_start_;    // of the line at begin_, if it began in an earlier segment
  int64_t newest_ = 0;        // time of the last line given out
  int64_t newest_whole_ = 0;  // when that line was whole
};

}  // namespace tony::logs
