// Writes one log in segments of bounded size, and says in the log itself what is missing from it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/files/unique_fd.h"

namespace tony::logs {

/// How much of one log is kept. At least two segments are.
struct LogLimits {
  int64_t segment_bytes = int64_t{256} << 20;
  int64_t total_bytes = int64_t{2} << 30;
};

/// The files of logs/log_segments.h.
///
///  1. A segment that is full is followed by the next one, at a line's end where there is one.
///  2. When there are more segments than total_bytes allows, the oldest but the first goes: a log's
///     start, where errors of the set-up stand, and its end are kept. A line stands where the
///     dropped ones stood.
///  3. What cannot be written (full disk) is left out and counted; once there is room again, a line
///     says how much is missing.
///  4. When bytes came is noted at most every kTimeInterval milliseconds. The notes count as the
///     segment's bytes, so that they are bounded too.
///
/// Never waits for room. Not thread safe.
class SegmentedLog {
 public:
  /// Takes a sentence for people about what the log lacks. Called when bytes are lost for the first
  /// time and with their sum by Finish(), and when the first segment is dropped.
  using OnLoss = std::function<void(const std::string& sentence)>;

  static constexpr int64_t kTimeInterval = 10;

  /// Opens the log `path`, whose name ends in ".log", for appending; files get mode 0600, or
  /// 0640 in a folder that its group may enter. Errno codes.
  static absl::StatusOr<SegmentedLog> Open(const std::string& path, LogLimits limits,
                                           OnLoss on_loss);

  /// Appends what was read from the program at `unix_millis`.
  void Append(const char* data, size_t size, int64_t unix_millis);
  /// Says what is still unsaid; to be called when no more will come.
  void Finish();

 private:
  SegmentedLog(std::string path, LogLimits limits, OnLoss on_loss)
      : path_(std::move(path)), limits_(limits), on_loss_(std::move(on_loss)) {}
  /// Goes on in segment `number`.
  absl::Status OpenSegment(int number);
  /// How many of the bytes belong into this segment; 0: it is full.
  size_t Fitting(const char* data, size_t size) const;
  void DropOldest();
  /// Closes a file without a name on a thread. Its room is freed with that, which waits for the
  /// disk where pages are on their way to it: longer than the pipe can take.
  void FreeAside(os::UniqueFd file);
  void Write(const char* data, size_t size, int64_t unix_millis);
  /// A line of our own: all of it or nothing.
  bool WriteNotice(const std::string& text);
  bool AdmitLoss();
  void NoteTime(int64_t unix_millis);
  void Lose(size_t size, const std::string& why);

  std::string path_;
  LogLimits limits_;
  OnLoss on_loss_;
  os::UniqueFd file_;
  os::UniqueFd times_;      ///< none before the segment's first byte
  int number_ = 0;          ///< of the segment that is written
  int64_t size_ = 0;        ///< of that segment
  int64_t times_size_ = 0;  ///< of its times
  int64_t last_noted_ = 0;  ///< Unix milliseconds; 0: nothing in this segment
  bool at_line_start_ = true;
  int oldest_ = 2;  ///< the oldest segment that may be dropped
  int64_t dropped_bytes_ = 0;
  int64_t lost_ = 0;  ///< bytes that no line of the log speaks of yet
  int64_t lost_in_all_ = 0;
  std::string why_lost_;
  std::jthread freeing_;  ///< frees the room of the segment that was dropped last
};

}  // namespace tony::logs
