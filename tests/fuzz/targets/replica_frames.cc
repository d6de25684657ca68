// Messages between the driver's store and its replicas on other machines through the job's tunnels,
// and arbitrary bytes from anybody who reaches a replica's port.
//
// Besides not crashing: frames are the same however their bytes are divided; a message is read
// again from the frame that is made of it; and no store grows beyond its limits, whatever it is
// told.
#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "common/frame_reader.h"
#include "core/rendezvous/rendezvous_store.h"
#include "rpc/convert/convert_rendezvous.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/targets.h"

namespace tony::fuzz {
namespace {

constexpr core::StoreLimits kLimits{.bytes = 4096, .keys = 16};

std::vector<std::string> FramesIn(const std::vector<std::string>& pieces) {
  FrameReader reader(rpc::kMostRendezvousFrameBytes, "the protocol of replicas");
  std::vector<std::string> frames;
  for (const std::string& piece : pieces) {
    const absl::Status taken = reader.Take(piece, [&](const std::string& frame) {
      frames.push_back(frame);
      return absl::OkStatus();
    });
    if (!taken.ok()) break;
  }
  return frames;
}

/// The content that FrameReader returns for one frame.
std::string ContentOf(const std::string& frame) {
  const std::vector<std::string> frames = FramesIn({frame});
  Require(frames.size() == 1, "a message is one frame");
  return frames[0];
}

void Apply(const core::StoreOperation& operation, core::RendezvousStore& store) {
  (void)store.Apply(operation);
  Require(store.bytes() <= kLimits.bytes && store.keys() <= kLimits.keys,
          "a store keeps its limits");
}

void CheckRequest(const std::string& frame, core::RendezvousStore& store) {
  const auto request = rpc::ReplicaRequestIn(frame);
  if (!request.ok() || !*request) return;
  const std::string written = ContentOf(rpc::ToFrame(**request));
  const auto again = rpc::ReplicaRequestIn(written);
  Require(again.ok() && *again && ContentOf(rpc::ToFrame(**again)) == written,
          "a request is read again from its frame");
  if (const auto* change = std::get_if<core::ChangeRequest>(&**request)) {
    std::visit([&](const auto& one) { Apply(one, store); }, change->change);
  }
}

void CheckMessage(const std::string& frame, core::RendezvousStore& store) {
  const auto message = rpc::ReplicaMessageIn(frame);
  if (!message.ok()) return;
  const auto whole = [](const core::ReplicaMessage& one) {
    const rpc::ReplicaFrame parts = rpc::ToFrame(one);
    return ContentOf(parts.value ? parts.head + *parts.value : parts.head);
  };
  const std::string written = whole(*message);
  const auto again = rpc::ReplicaMessageIn(written);
  Require(again.ok() && whole(*again) == written, "a message is read again from its frame");
  if (const auto* operation = std::get_if<core::StoreOperation>(&*message)) {
    Apply(*operation, store);
  }
}

}  // namespace

void FuzzReplicaFrames(std::string_view input) {
  InputReader reader(input);
  const uint8_t division = reader.Byte();
  const std::string bytes = reader.Rest();
  const std::vector<std::string> frames = FramesIn({bytes});
  Require(frames == FramesIn(Divided(bytes, division)), "frames are the same in pieces");
  core::RendezvousStore store(kLimits);
  for (const std::string& frame : frames) {
    CheckRequest(frame, store);
    CheckMessage(frame, store);
  }
  core::RendezvousStore copy(kLimits);
  for (const core::StoreOperation& operation : store.Snapshot()) Apply(operation, copy);
  Require(copy.keys() == store.keys() && copy.bytes() == store.bytes(),
          "a snapshot makes an equal store");
}

}  // namespace tony::fuzz
