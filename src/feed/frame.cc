// Lengths are checked before anything is reserved for them: a header is all that a hostile peer can
// make this side keep.
#include "feed/frame.h"

#include "absl/strings/str_cat.h"

namespace tony::feed {
namespace {

template <typename Number>
std::string LittleEndian(Number number) {
  std::string bytes(sizeof(Number), '\0');
  for (char& byte : bytes) {
    byte = static_cast<char>(number & 0xff);
    number >>= 8;
  }
  return bytes;
}

template <typename Number>
Number ReadLittleEndian(const char* bytes) {
  Number number = 0;
  for (size_t i = sizeof(Number); i-- > 0;) {
    number = number << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return number;
}

/// Whether `peer` sends frames of this type.
bool Sends(Peer peer, FrameType type) {
  switch (type) {
    case FrameType::kHello:
    case FrameType::kBatch:
    case FrameType::kEnd:
      return peer == Peer::kProducer;
    case FrameType::kAttach:
    case FrameType::kRelease:
    case FrameType::kProgramResult:
    case FrameType::kTerminate:
    case FrameType::kNext:
      return peer == Peer::kProgram;
    default:
      return false;
  }
}

/// A program's RESULT begins with the number of its connection.
uint64_t LongestPayload(FrameType type, uint32_t slot_bytes) {
  if (type == FrameType::kBatch) return slot_bytes;
  if (type == FrameType::kProgramResult) return uint64_t{slot_bytes} + sizeof(uint64_t);
  return kMostControlBytes;
}

}  // namespace

absl::StatusOr<FrameHeader> ParseHeader(const char* bytes, Peer peer, uint32_t slot_bytes) {
  FrameHeader header;
  header.length = ReadLittleEndian<uint32_t>(bytes);
  header.type = static_cast<FrameType>(bytes[4]);
  header.encoding = static_cast<uint8_t>(bytes[5]);
  header.argument = ReadLittleEndian<uint64_t>(bytes + 8);
  const int type = static_cast<int>(header.type);
  if (!Sends(peer, header.type)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a frame of the type ", type, ", which a ",
                     peer == Peer::kProducer ? "producer" : "program",
                     " does not send; both sides must have the same version of tony"));
  }
  if (bytes[6] != 0 || bytes[7] != 0) {
    return absl::InvalidArgumentError("a frame whose bytes 6 and 7 are not zero");
  }
  const uint64_t longest = LongestPayload(header.type, slot_bytes);
  if (header.length > longest) {
    return absl::InvalidArgumentError(
        absl::StrCat("a frame of the type ", type, " with ", header.length, " bytes; at most ",
                     longest, " are allowed (tony.feed.buffer sets the size of a batch)"));
  }
  return header;
}

std::string FormatHeader(const FrameHeader& header) {
  return absl::StrCat(
      LittleEndian32(header.length),
      std::string{static_cast<char>(header.type), static_cast<char>(header.encoding), '\0', '\0'},
      LittleEndian64(header.argument));
}

std::string FormatFrame(FrameHeader header, std::string_view payload) {
  header.length = static_cast<uint32_t>(payload.size());
  std::string frame = FormatHeader(header);
  frame.append(payload);
  return frame;
}

std::string LittleEndian64(uint64_t number) { return LittleEndian(number); }
std::string LittleEndian32(uint32_t number) { return LittleEndian(number); }
uint64_t ReadLittleEndian64(const char* bytes) { return ReadLittleEndian<uint64_t>(bytes); }

}  // namespace tony::feed
