// A payload without a place is read in pieces of at most kPiece bytes.
#include "feed/frame_intake.h"

#include <algorithm>
#include <utility>

#include "common/status_macros.h"

namespace tony::feed {
namespace {

constexpr size_t kPiece = 16 * 1024;

}  // namespace

FrameIntake::Room FrameIntake::Next() {
  if (!in_payload_) return {header_bytes_ + filled_, kHeaderBytes - filled_};
  const size_t missing = header_.length - filled_;
  if (place_ != nullptr) return {place_ + filled_, missing};
  const size_t piece = std::min(missing, kPiece);
  own_.resize(filled_ + piece);
  return {own_.data() + filled_, piece};
}

absl::Status FrameIntake::Took(size_t bytes) {
  filled_ += bytes;
  if (!in_payload_) return filled_ < kHeaderBytes ? absl::OkStatus() : OnHeader();
  return filled_ < header_.length ? absl::OkStatus() : OnPayload();
}

absl::Status FrameIntake::OnHeader() {
  TONY_ASSIGN_OR_RETURN(header_, ParseHeader(header_bytes_, peer_, slot_bytes_));
  TONY_ASSIGN_OR_RETURN(place_, callbacks_.on_header(header_));
  in_payload_ = true;
  filled_ = 0;
  return header_.length == 0 ? OnPayload() : absl::OkStatus();
}

absl::Status FrameIntake::OnPayload() {
  in_payload_ = false;
  place_ = nullptr;
  own_.resize(std::min(own_.size(), std::exchange(filled_, 0)));
  return callbacks_.on_frame(header_, std::exchange(own_, {}));
}

}  // namespace tony::feed
