// The files of one log: its segments, and beside each segment a file with the times of its bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// A log "stdout.log" begins in the file of that name and continues in "stdout.log.00002",
// "stdout.log.00003"…, so that `cat stdout.log*` is the whole log. Segments are only added at the
// end. A dropped segment is replaced by a line that reports the drop, and that file is removed when
// the next segment is dropped: so there may be a gap in the numbers after the first segment.
// "stdout.times", "stdout.times.00002"… hold records of the times at which bytes were read from the
// program.
namespace tony::logs {

/// Path of segment `number`, from 1, of the log `path`.
std::string LogSegmentPath(const std::string& path, int number);

/// The parts of a segment's file name; `path` itself is segment 1.
struct LogSegmentName {
  std::string path;  ///< path of the log
  int number = 1;
};
/// The inverse of LogSegmentPath(), for a log whose name ends in ".log"; nothing for other files.
std::optional<LogSegmentName> ParseLogSegment(const std::string& path);

/// A place in the segments of a log.
struct LogPosition {
  int segment = 0;     ///< from 1; 0: none
  int64_t offset = 0;  ///< bytes from the segment's start
};

/// Numbers of the existing segments, ascending; empty if there is no such log.
std::vector<int> FindLogSegments(const std::string& path);

/// Path of the file with the times of segment `number` of the log `path` ("….log").
std::string LogTimesPath(const std::string& path, int number);

/// The time at which a piece of a segment was read from the program. It holds for the bytes from
/// `offset` to the next record's offset; of several records for one offset the last one holds.
struct LogTime {
  int64_t offset = 0;       ///< bytes from the segment's start
  int64_t unix_millis = 0;  ///< by the clock of the writing host; may go back with that clock

  bool operator==(const LogTime&) const = default;
};

/// Size in bytes of one record in a file of times.
inline constexpr int64_t kLogTimeBytes = 16;

/// The record as it is stored: both numbers as little-endian 64 bits.
std::string EncodeLogTime(const LogTime& time);
/// Reads up to `count` records, starting with record `first` (from 0), from the open file of times
/// `fd`; fewer at the end of the file.
std::vector<LogTime> ReadLogTimes(int fd, int64_t first, size_t count);

}  // namespace tony::logs
