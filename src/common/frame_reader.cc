// Lengths are checked before anything is done with them.
#include "common/frame_reader.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "common/big_endian.h"

namespace tony {
namespace {

constexpr size_t kLengthBytes = 4;
/// Of an empty buffer; what a long frame took is given back.
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
    // Anew, so that no more memory is kept than for what is there.
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
