// The bytes on a connection to a Hadoop service, from anybody who answers there: frames with
// headers, the negotiation and answers.
//
// Besides not crashing: frames are the same however their bytes are divided, and a server that
// does not know the token's password is never taken for the right one.
#include <google/protobuf/stubs/logging.h>

#include <cstddef>
#include <string>
#include <vector>

#include "common/frame_reader.h"
#include "hadoop/auth/sasl_negotiation.h"
#include "hadoop/base/wire_frame.h"
#include "hadoop/common/rpc.pb.h"
#include "hadoop/rpc/remote_exception.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/targets.h"

namespace tony::fuzz {
namespace {

constexpr size_t kMostFrameBytes = size_t{64} * 1024;

/// The frames, and "end" where the stream cannot be read any further.
std::vector<std::string> FramesIn(const std::vector<std::string>& pieces) {
  FrameReader reader(kMostFrameBytes, "Hadoop's protocol");
  std::vector<std::string> frames;
  for (const std::string& piece : pieces) {
    const absl::Status taken = reader.Take(piece, [&](const std::string& frame) {
      frames.push_back(frame);
      return absl::OkStatus();
    });
    if (taken.ok()) continue;
    frames.emplace_back("end");
    break;
  }
  return frames;
}

/// As RpcConnection does with a frame: a header, then what it announces.
void ReadMessages(const std::string& frame, hadoop::SaslNegotiation& negotiation) {
  hadoop::MessageReader reader(frame);
  ::hadoop::common::RpcResponseHeaderProto header;
  if (!reader.Read(&header).ok()) return;
  hadoop::MessageReader copy = reader;
  ::hadoop::common::RpcSaslProto message;
  if (reader.Read(&message).ok()) (void)negotiation.OnMessage(message);
  while (!copy.AtEnd()) {
    if (!copy.Bytes().ok()) return;
  }
}

}  // namespace

void FuzzHadoopFrames(std::string_view input) {
  // Texts that are no UTF-8 are said on standard error.
  google::protobuf::SetLogHandler(nullptr);
  InputReader reader(input);
  const uint8_t division = reader.Byte();
  const std::string bytes = reader.Rest();
  const std::vector<std::string> frames = FramesIn({bytes});
  Require(frames == FramesIn(Divided(bytes, division)), "frames are the same in pieces");
  hadoop::RpcIdentity identity{.user = "user"};
  identity.token = hadoop::Token{"identifier", "password", hadoop::kAmRmToken, "127.0.0.1:1"};
  hadoop::SaslNegotiation negotiation(identity, "localhost");
  for (const std::string& frame : frames) ReadMessages(frame, negotiation);
  Require(!negotiation.succeeded(), "a server without the password is not believed");
}

}  // namespace tony::fuzz
