// Checks each length before it waits for that many bytes, and keeps the buffer as small as the
// bytes that are pending.
#include "common/frame_reader.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "common/big_endian.h"

namespace tony {
namespace {

constexpr size_t kLengthBytes = 4;
/// Capacity in bytes that an empty buffer may keep; the memory of a longer frame is given back.
constexpr size_t kMostKeptBytes = 4096;

}  // namespace

absl::StatusOr<std::optional<std::string>> FrameReader::Next() {
  if (buffer_.size() - consumed_ < kLengthBytes) return std::nullopt;
  const uint32_t length = FromBigEndian(buffer_.data() + consumed_);
  if (length > max_frame_bytes_) {
    return absl::DataLossError(
        absl::StrCat("a frame of ", length, " bytes is announced, more than ", max_frame_bytes_,
                     ": the other side does not speak ", protocol_, ", or something is wrong"));
  }
  if (buffer_.size() - consumed_ - kLengthBytes < length) {
    // A new string is made, so that no more memory is kept than for the pending bytes.
    if (consumed_ > 0) buffer_ = buffer_.substr(consumed_);
    consumed_ = 0;
    return std::nullopt;
  }
  std::string frame = buffer_.substr(consumed_ + kLengthBytes, length);
  consumed_ += kLengthBytes + length;
  if (consumed_ == buffer_.size()) {
    buffer_.clear();
    if (buffer_.capacity() > kMostKeptBytes) buffer_.shrink_to_fit();
    consumed_ = 0;
  }
  return frame;
}

}  // namespace tony
