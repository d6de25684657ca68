// The bytes of one log under numbers that stay the same while old segments are dropped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "logs/log_segments.h"
#include "os/files/unique_fd.h"

namespace tony::logs {

/// Opens a segment for reading. The program may have replaced the file: symbolic links are not
/// followed, and NotFound is returned for what is no regular file. Otherwise errno codes.
absl::StatusOr<os::UniqueFd> OpenSegment(const std::string& path);

/// A log as it is when this object is made. An offset counts the bytes that the log has had since
/// its start; those of dropped segments are counted but cannot be read. The lines that report the
/// drop are no bytes of the log. Immutable, so thread safe.
class LogBytes {
 public:
  /// `path`: of the first segment. NotFound – there is no such log.
  static absl::StatusOr<LogBytes> Open(const std::string& path);

  /// The offset behind the last byte.
  int64_t size() const { return size_; }
  /// The bytes that were dropped; both 0 if there are none.
  int64_t dropped_offset() const { return dropped_offset_; }
  int64_t dropped_bytes() const { return dropped_bytes_; }

  /// `offset`, or the end of the dropped bytes if it lies among them.
  int64_t Existing(int64_t offset) const;
  /// The offset of a place in a segment; -1: that segment was dropped.
  int64_t OffsetOf(const LogPosition& position) const;
  /// At most `most` bytes from `offset` on, which exists; fewer at the end, before dropped bytes,
  /// and where a segment was dropped meanwhile. Errno codes.
  absl::StatusOr<std::string> Read(int64_t offset, size_t most) const;

 private:
  struct Segment {
    std::string path;
    int number = 0;
    int64_t begin = 0;
    int64_t size = 0;
  };

  std::vector<Segment> segments_;
  int64_t size_ = 0;
  int64_t dropped_offset_ = 0;
  int64_t dropped_bytes_ = 0;
};

}  // namespace tony::logs
