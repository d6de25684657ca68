// Splits a stream of bytes into frames: each is a four-byte big-endian length, then that many
// bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/status_macros.h"

namespace tony {

/// Splits a stream of bytes into frames. Holds no more than the bytes that have arrived, whatever
/// length a frame announces. Not thread safe.
class FrameReader {
 public:
  /// `max_frame_bytes`: a longer frame is an error. `protocol`: name of the expected protocol, for
  /// that error's message; a string literal.
  FrameReader(size_t max_frame_bytes, const char* protocol)
      : max_frame_bytes_(max_frame_bytes), protocol_(protocol) {}

  /// Adds bytes that have arrived.
  void Append(const char* data, size_t size) { buffer_.append(data, size); }
  /// The content of the next frame; nothing if it has not arrived completely.
  /// DataLoss – the frame's length is negative or too large; nothing after it can be read.
  absl::StatusOr<std::optional<std::string>> Next();
  /// Appends `bytes` and passes each complete frame to `on_frame`, which returns a Status and must
  /// not destroy the reader. The codes of Next(), or the first error of `on_frame`.
  template <typename OnFrame>
  absl::Status Take(const std::string& bytes, OnFrame on_frame) {
    Append(bytes.data(), bytes.size());
    while (true) {
      TONY_ASSIGN_OR_RETURN(const std::optional<std::string> frame, Next());
      if (!frame) return absl::OkStatus();
      TONY_RETURN_IF_ERROR(on_frame(*frame));
    }
  }

 private:
  const size_t max_frame_bytes_;
  const char* const protocol_;
  std::string buffer_;
  size_t consumed_ = 0;  ///< bytes at the start of buffer_ that were given out
};

}  // namespace tony
