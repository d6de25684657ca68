// Converts messages between a rendezvous store and its replicas to frames on the wire and back.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "core/rendezvous/replica_messages.h"

namespace tony::rpc {

/// The longest frame in bytes: the longest value that can be put, plus the fields around it.
inline constexpr size_t kMostRendezvousFrameBytes = size_t{65} * 1024 * 1024;

/// The frame of a request; rendezvous.proto describes frames.
std::string ToFrame(const core::ReplicaRequest& request);
/// A frame in two parts, because its value goes to many replicas: `value` follows `head`. A null
/// `value`: the head is the whole frame.
struct ReplicaFrame {
  std::string head;
  core::Blob value;
};
ReplicaFrame ToFrame(const core::ReplicaMessage& message);
/// The frame that a replica sends when it has nothing to say.
std::string SignOfLife();

/// The request in a frame; nullopt for a sign of life. InvalidArgument – the frame is neither.
absl::StatusOr<std::optional<core::ReplicaRequest>> ReplicaRequestIn(const std::string& frame);
/// The message in a frame. InvalidArgument – the frame holds no such message.
absl::StatusOr<core::ReplicaMessage> ReplicaMessageIn(const std::string& frame);

}  // namespace tony::rpc
