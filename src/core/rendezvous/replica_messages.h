// What the store that has the truth and a replica of it on another machine tell each other.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "core/rendezvous/rendezvous_store.h"

namespace tony::core {

/// What a replica asks the truth for.
struct ChangeRequest {
  uint64_t id = 0;  ///< of this replica; the same when it is sent again
  std::variant<PutValue, RemoveValue> change;
};

/// Somebody waits without end for a value that is not there. Has no answer but the value; told
/// again when the replica is connected again.
struct AskedFor {
  std::string scope;
  std::string key;
};

/// What a replica tells the truth.
using ReplicaRequest = std::variant<ChangeRequest, AskedFor>;

/// The answer to a ChangeRequest. What it has changed was sent before.
struct ChangeDone {
  uint64_t id = 0;
  absl::Status status;
};

/// Between them stands all that there is; what a replica knew before is forgotten at the end.
enum class SnapshotMark { kBegin, kEnd };

/// What the truth tells a replica, in this order.
using ReplicaMessage = std::variant<SnapshotMark, StoreOperation, ChangeDone>;

}  // namespace tony::core
