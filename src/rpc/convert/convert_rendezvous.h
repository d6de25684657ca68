// Between the messages of a rendezvous store's replicas and the wire's.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "core/rendezvous/replica_messages.h"

namespace tony::rpc {

/// Of one frame: the longest value that is put, and what is around it.
inline constexpr size_t kMostRendezvousFrameBytes = size_t{65} * 1024 * 1024;

/// Frames, see rendezvous.proto.
std::string ToFrame(const core::ReplicaRequest& request);
/// In two parts, since its value goes to many: it follows the head. Null: the head is all.
struct ReplicaFrame {
  std::string head;
  core::Blob value;
};
ReplicaFrame ToFrame(const core::ReplicaMessage& message);
/// The frame of a replica that has nothing to say.
std::string SignOfLife();

/// What is in a frame; nothing in a sign of life. InvalidArgument – something else.
absl::StatusOr<std::optional<core::ReplicaRequest>> ReplicaRequestIn(const std::string& frame);
/// What is in a frame. InvalidArgument – something else.
absl::StatusOr<core::ReplicaMessage> ReplicaMessageIn(const std::string& frame);

}  // namespace tony::rpc
