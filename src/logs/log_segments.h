// The files that one log consists of: segments, and beside each when its bytes came.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// A log "stdout.log" begins in the file of that name and goes on in "stdout.log.00002",
// "stdout.log.00003"…, so that `cat stdout.log*` is the whole log. Segments are only added at the
// end; one that is dropped is replaced by a line that says so, and goes when the next one is
// dropped: the numbers may have gaps behind the first. "stdout.times", "stdout.times.00002"… are
// records of when bytes were read from the program.
namespace tony::logs {

/// The file of segment `number`, from 1, of the log `path`.
std::string LogSegmentPath(const std::string& path, int number);

/// A segment's file name taken apart; `path` itself is its segment 1.
struct LogSegmentName {
  std::string path;  ///< of the log
  int number = 1;
};
/// The inverse of LogSegmentPath(), for a log whose name ends in ".log"; nothing for other files.
std::optional<LogSegmentName> ParseLogSegment(const std::string& path);

/// The numbers of the segments that are there, ascending; none when there is no such log.
std::vector<int> FindLogSegments(const std::string& path);

/// The file with the times of segment `number` of the log `path` ("….log").
std::string LogTimesPath(const std::string& path, int number);

/// When a piece of a segment was read from the program. The bytes from `offset` to the next
/// record's offset came then; of several records for one offset the last one holds.
struct LogTime {
  int64_t offset = 0;       ///< from the segment's start
  int64_t unix_millis = 0;  ///< by the clock of the host that wrote it; may go back with that clock

  bool operator==(const LogTime&) const = default;
};

/// Bytes of one record in a file of times.
inline constexpr int64_t kLogTimeBytes = 16;

/// The record as it is stored: both numbers as little-endian 64 bits.
std::string EncodeLogTime(const LogTime& time);
/// `count` records from number `first` on, from 0, of the open file of times `fd`; fewer where it
/// ends.
std::vector<LogTime> ReadLogTimes(int fd, int64_t first, size_t count);

}  // namespace tony::logs
