// The bytes on a connection to a feed's endpoint, from anybody who reaches its port.
//
// Besides not crashing: frames are the same however their bytes are divided; no payload is longer
// than its limit; and nothing is kept beyond what has arrived.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "feed/frame_intake.h"
#include "feed/hello.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/targets.h"

namespace tony::fuzz {
namespace {

constexpr uint32_t kSlotBytes = 4096;
/// The most bytes that FrameIntake makes room for at once.
constexpr size_t kMostRoom = 64 * 1024;

/// The frames as text, and "end" where the stream cannot be read any further.
std::vector<std::string> FramesIn(const std::vector<std::string>& pieces, feed::Peer peer) {
  std::vector<std::string> frames;
  std::string slot(kSlotBytes, '\0');
  feed::FrameIntake intake(
      peer, kSlotBytes,
      {[&](const feed::FrameHeader& header) -> absl::StatusOr<char*> {
         if (header.type != feed::FrameType::kBatch) return nullptr;
         Require(header.length <= slot.size(), "a batch fits into its slot");
         return slot.data();
       },
       [&](const feed::FrameHeader& header, const std::string& payload) {
         const bool batch = header.type == feed::FrameType::kBatch;
         Require(batch ? payload.empty() : payload.size() == header.length, "payloads are whole");
         if (header.type == feed::FrameType::kHello) (void)feed::ParseHello(payload);
         frames.push_back(absl::StrCat(static_cast<int>(header.type), " ", header.encoding, " ",
                                       header.argument, " ",
                                       batch ? slot.substr(0, header.length) : payload));
         return absl::OkStatus();
       }});
  for (const std::string& piece : pieces) {
    for (size_t at = 0; at < piece.size();) {
      const feed::FrameIntake::Room room = intake.Next();
      Require(room.size > 0 && room.size <= kMostRoom, "there is room, and not too much");
      const size_t part = std::min(room.size, piece.size() - at);
      piece.copy(room.data, part, at);
      at += part;
      if (intake.Took(part).ok()) continue;
      frames.emplace_back("end");
      return frames;
    }
  }
  return frames;
}

}  // namespace

void FuzzFeedFrames(std::string_view input) {
  InputReader reader(input);
  const uint8_t division = reader.Byte();
  const feed::Peer peer = reader.Byte() % 2 == 0 ? feed::Peer::kProducer : feed::Peer::kProgram;
  const std::string bytes = reader.Rest();
  Require(FramesIn({bytes}, peer) == FramesIn(Divided(bytes, division), peer),
          "frames are the same in pieces");
}

}  // namespace tony::fuzz
