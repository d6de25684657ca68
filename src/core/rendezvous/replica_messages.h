// The messages between the store with the truth and its replica on another machine.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "core/rendezvous/rendezvous_store.h"

namespace tony::core {

/// A replica asks the truth for a change.
struct ChangeRequest {
  uint64_t id = 0;  ///< unique in this replica; unchanged when the request is sent again
  std::variant<PutValue, RemoveValue> change;
};

/// A client of the replica waits without end for a missing value. The only answer is the value. The
/// replica sends this message again after each new connection.
struct AskedFor {
  std::string scope;
  std::string key;
};

/// A message from a replica to the truth.
using ReplicaRequest = std::variant<ChangeRequest, AskedFor>;

/// The answer to a ChangeRequest, sent after the change itself.
struct ChangeDone {
  uint64_t id = 0;
  absl::Status status;
};

/// The marks around a snapshot of the truth; at kEnd the replica forgets what it knew before.
enum class SnapshotMark { kBegin, kEnd };

/// A message from the truth to a replica; their order is kept.
using ReplicaMessage = std::variant<SnapshotMark, StoreOperation, ChangeDone>;

}  // namespace tony::core
