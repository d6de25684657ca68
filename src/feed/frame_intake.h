// Takes in the frames of one connection, byte by byte as they come.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "feed/frame.h"

namespace tony::feed {

/// Says where the next bytes belong, so that a batch is received straight into its slot:
///
///   HEADER ──16 bytes──▶ on_header ──▶ PAYLOAD ──length bytes──▶ on_frame ──▶ HEADER
///
/// Payloads without a place of their own are kept here and grow with what has arrived, never with
/// what a header announces. Not thread safe.
class FrameIntake {
 public:
  struct Callbacks {
    /// The place for the payload, with room for `length` bytes; null: keep it here. An error ends
    /// the connection.
    std::function<absl::StatusOr<char*>(const FrameHeader& header)> on_header;
    /// A whole frame. `payload` is empty if it has a place of its own. An error ends the
    /// connection. Must not destroy the intake.
    std::function<absl::Status(const FrameHeader& header, std::string payload)> on_frame;
  };
  /// Bytes to read, and where to. Plain data.
  struct Room {
    char* data = nullptr;
    size_t size = 0;
  };

  FrameIntake(Peer peer, uint32_t slot_bytes, Callbacks callbacks)
      : peer_(peer), slot_bytes_(slot_bytes), callbacks_(std::move(callbacks)) {}

  /// Where the next bytes go; at least one.
  Room Next();
  /// `bytes` bytes were placed into Next(). The codes of ParseHeader() and of the callbacks;
  /// nothing may be taken in after an error.
  absl::Status Took(size_t bytes);
  /// Whether the stream may end here.
  bool between_frames() const { return !in_payload_ && filled_ == 0; }

 private:
  absl::Status OnHeader();
  absl::Status OnPayload();

  const Peer peer_;
  const uint32_t slot_bytes_;
  const Callbacks callbacks_;
  char header_bytes_[kHeaderBytes] = {};
  FrameHeader header_;
  bool in_payload_ = false;
  size_t filled_ = 0;      ///< bytes of the header or of the payload that have arrived
  char* place_ = nullptr;  ///< of the payload; null: own_
  std::string own_;
};

}  // namespace tony::feed
