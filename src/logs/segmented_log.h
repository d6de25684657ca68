// Writes one log in segments of bounded size, and reports in the log itself what is missing from
// it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/files/unique_fd.h"

namespace tony::logs {

/// Size limits of one log. At least two segments are kept.
struct LogLimits {
  /// Bytes of one segment, and of the whole log.
  int64_t segment_bytes = int64_t{256} << 20;
  int64_t total_bytes = int64_t{2} << 30;
};

/// Writes the files of logs/log_segments.h.
///
/// 1. A full segment is followed by the next one, at a line's end if possible.
/// 2. When there are more segments than total_bytes allows, the oldest but the first is dropped. So
///    the log keeps its start, with the errors of the set-up, and its end. A line reports the
///    dropped segments in their place.
/// 3. Output that cannot be written (full disk) is left out and counted; once there is room again,
///    a line reports how much is missing.
/// 4. The time of the bytes is recorded at most every kTimeInterval milliseconds. The records count
///    as bytes of the segment, so that they are bounded too.
///
/// Never waits for room. Not thread safe.
class SegmentedLog {
 public:
  /// Receives a sentence for people about what the log lacks. Called when bytes are lost for the
  /// first time, by Finish() with the sum of lost bytes, and when a segment is dropped for the
  /// first time.
  using OnLoss = std::function<void(const std::string& sentence)>;

  static constexpr int64_t kTimeInterval = 10;

  /// Opens the log `path`, whose name ends in ".log", for appending. Files get mode 0600, or 0640
  /// in a folder that its group may enter. Errno codes.
  static absl::StatusOr<SegmentedLog> Open(const std::string& path, LogLimits limits,
                                           OnLoss on_loss);

  /// Appends bytes that were read from the program at `unix_millis`.
  void Append(const char* data, size_t size, int64_t unix_millis);
  /// Reports losses not yet reported. Call it when no more output will come.
  void Finish();

 private:
  SegmentedLog(std::string path, LogLimits limits, OnLoss on_loss)
      : path_(std::move(path)), limits_(limits), on_loss_(std::move(on_loss)) {}
  /// Continues in segment `number`.
  absl::Status OpenSegment(int number);
  /// Number of the bytes that belong into the current segment; 0: it is full.
  size_t Fitting(const char* data, size_t size) const;
  void DropOldest();
  /// Closes a file that has lost its name, on a thread. Closing it frees its space, which waits for
  /// the disk if pages are still being written: longer than the pipe can absorb the program's
  /// output.
  void FreeAside(os::UniqueFd file);
  void Write(const char* data, size_t size, int64_t unix_millis);
  /// Writes a line of tony's own: all of it or nothing.
  bool WriteNotice(const std::string& text);
  bool AdmitLoss();
  void NoteTime(int64_t unix_millis);
  void Lose(size_t size, const std::string& why);

  std::string path_;
  LogLimits limits_;
  OnLoss on_loss_;
  os::UniqueFd file_;
  os::UniqueFd times_;      ///< not valid before the segment's first byte
  int number_ = 0;          ///< number of the current segment
  int64_t size_ = 0;        ///< bytes of the current segment
  int64_t times_size_ = 0;  ///< bytes of the current segment's times
  int64_t last_noted_ = 0;  ///< Unix milliseconds of the last record; 0: none in this segment
  bool at_line_start_ = true;
  int oldest_ = 2;  ///< number of the oldest segment that may be dropped
  int64_t dropped_bytes_ = 0;
  int64_t lost_ = 0;  ///< bytes that no line of the log has reported yet
  int64_t lost_in_all_ = 0;
  std::string why_lost_;
  std::jthread freeing_;  ///< frees the space of the last dropped segment
};

}  // namespace tony::logs
