// Frames in a stream of bytes: a length of four bytes, the highest first, then so many bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/status_macros.h"

namespace tony {

/// Cuts a stream of bytes into frames. It holds no more than what has arrived, whatever a length
/// says. Not thread safe.
class FrameReader {
 public:
  /// `max_frame_bytes`: a longer one is an error. `protocol`: what the other side is to speak, for
  /// that error; a literal.
  FrameReader(size_t max_frame_bytes, const char* protocol)
      : max_frame_bytes_(max_frame_bytes), protocol_(protocol) {}

  void Append(const char* data, size_t size) { buffer_.append(data, size); }
  /// The next frame's content; nothing when it has not arrived whole.
  /// DataLoss – its length is negative or too large; nothing after it can be read.
  absl::StatusOr<std::optional<std::string>> Next();
  /// Appends `bytes` and gives `on_frame`, which returns a Status and does not destroy the reader,
  /// each frame that is whole. The codes of Next(), or the first error of `on_frame`.
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
  size_t consumed_ = 0;  ///< of the buffer's beginning
};

}  // namespace tony
