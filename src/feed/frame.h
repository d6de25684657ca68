// The frames of a feed: 16 bytes, little endian, then the payload (docs/design/feed.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace tony::feed {

/// Length of a frame's header in bytes.
inline constexpr size_t kHeaderBytes = 16;
/// Longest payload of every frame but BATCH and RESULT.
inline constexpr uint32_t kMostControlBytes = 64 * 1024;
/// The version that HELLO and ATTACH carry.
inline constexpr uint64_t kVersion = 1;

/// The encoding of a CLOSED whose partition has no END: its producer has failed, and will send all
/// of it again.
inline constexpr uint8_t kBrokenOff = 1;

enum class FrameType : uint8_t {
  // Producer to endpoint.
  kHello = 1,
  kBatch = 2,
  kEnd = 3,
  // Endpoint to producer.
  kCredit = 16,
  kAck = 17,
  kSkip = 18,
  kStop = 19,
  kError = 20,
  kAway = 21,
  kAlive = 22,
  kResult = 23,
  // Program to endpoint.
  kAttach = 32,
  kRelease = 33,
  kProgramResult = 34,
  kTerminate = 35,
  kNext = 36,
  // Endpoint to program.
  kAttached = 48,
  kOpen = 49,
  kSlot = 50,
  kClosed = 51,
  kEnded = 52,
  kProgramError = 53,
};

/// Plain data.
struct FrameHeader {
  uint32_t length = 0;  ///< of the payload, in bytes
  FrameType type = FrameType::kError;
  uint8_t encoding = 0;
  uint64_t argument = 0;

  bool operator==(const FrameHeader&) const = default;
};

/// The side from which an endpoint receives frames.
enum class Peer { kProducer, kProgram };

/// Reads the header in the kHeaderBytes bytes at `bytes`. `slot_bytes`: the longest payload of a
/// BATCH or of a program's RESULT. InvalidArgument – a type that `peer` does not send, a length
/// beyond the type's limit, or a reserved byte that is not zero; nothing after it can be read.
absl::StatusOr<FrameHeader> ParseHeader(const char* bytes, Peer peer, uint32_t slot_bytes);

/// The header's bytes.
std::string FormatHeader(const FrameHeader& header);
/// A whole frame. `header.length` is ignored.
std::string FormatFrame(FrameHeader header, std::string_view payload);

/// `number` in 8 (4) bytes, little endian.
std::string LittleEndian64(uint64_t number);
std::string LittleEndian32(uint32_t number);
/// The number in the 8 bytes at `bytes`.
uint64_t ReadLittleEndian64(const char* bytes);

}  // namespace tony::feed
