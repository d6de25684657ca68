// The values by which the processes of a Horovod job find each other, by scope and key.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "core/rendezvous/slot_plan.h"

namespace tony::core {

/// The length of one Gloo address on 64-bit Linux, a sockaddr_storage and a number. A rank puts one
/// address for each other rank.
inline constexpr size_t kAddressBytes = 136;

/// A value that is stored once and shared by all connections that send it.
using Blob = std::shared_ptr<const std::string>;

/// True for a key of digits only: a rank puts its addresses under such a key.
bool IsAddressKey(const std::string& key);
/// The key under which a rank puts its machine's name: "rank_3".
std::string NameKey(int rank);

/// The scope in which a worker of an elastic job asks for its place in the next round.
inline constexpr char kRankScope[] = "rank_and_size";

/// The scope in which a worker of an elastic job puts its address and the secret by which it
/// recognizes its driver. The secret lets its holder run anything in the worker, so these values
/// are never served: only the store with the truth hears of each change, and neither a client nor a
/// replica does.
inline constexpr char kWorkerAddressScope[] = "worker_addresses";
/// True when values of this scope are for the driver only.
bool IsForDriverOnly(const std::string& scope);

/// How long the answer about a missing value may be held back.
enum class Patience {
  kNone,   ///< not at all: the client only guesses keys
  kSome,   ///< for a while: the client asks again, up to its own deadline
  kNoEnd,  ///< until the value comes: the client would take "not there" for a value
};
Patience PatienceFor(const std::string& scope, const std::string& key);

struct StoreLimits {
  size_t bytes = 0;  ///< of scopes, keys and values together
  size_t keys = 0;   ///< in all scopes

  /// Enough for the rendezvous of `processes` processes, several process sets, and the functions
  /// that horovod.run() sends.
  static StoreLimits For(int processes);
};

/// The operations that change a store. Two stores are equal after the same operations in the same
/// order.
struct BeginRound {
  std::vector<Slot> plan;
};
struct PutValue {
  std::string scope;
  std::string key;
  Blob value;
};
struct RemoveValue {
  std::string scope;
  std::string key;
};
using StoreOperation = std::variant<BeginRound, PutValue, RemoveValue>;

/// One scope, as seen by code that reports the progress of its ranks. Plain data.
struct RendezvousScope {
  struct Entry {
    Blob value;             ///< null: removed, or never put
    bool finished = false;  ///< its rank has removed it, so the rank is connected to all others
  };
  int size = 0;         ///< number of ranks; 0: not known (an ad hoc scope)
  int finished = 0;     ///< number of finished entries
  int addresses = 0;    ///< number of values under address keys
  int completions = 0;  ///< how often all ranks of a sized scope have finished
  absl::flat_hash_map<std::string, Entry> entries;
};

/// The scopes are of two kinds.
///
/// 1. Sized scopes follow from the plan of the round: "global", "local_HOST" and
///    "cross_LOCAL-RANK". The removal of an address key, 0 to size-1, means that the rank is
///    connected. When all ranks are, the scope is emptied so that it can be used again. Unlike in
///    Horovod, a rank is counted once however often it removes its key, and the end of one scope
///    does not affect the others.
/// 2. Ad hoc scopes are made by their first value: one for each process set, "runfunc", and others.
///    A removal only removes; the scope ends with the last of its addresses, together with the
///    names that no client removes.
///
/// A new round starts with only the values that horovod.run() has put, which belong to the job.
/// Not thread safe. Does no I/O.
class RendezvousStore {
 public:
  explicit RendezvousStore(StoreLimits limits) : limits_(limits) {}

  /// Starts a round: forgets the previous one.
  void Begin(const std::vector<Slot>& plan);
  /// Replaces an earlier value; `value` is not null. ResourceExhausted – a limit would be exceeded.
  absl::Status Put(const std::string& scope, const std::string& key, Blob value);
  /// Removing a missing value is allowed: in a sized scope it counts as the rank's end.
  void Remove(const std::string& scope, const std::string& key);
  /// Null when there is no value.
  Blob Get(const std::string& scope, const std::string& key) const;

  /// Applies one operation. Returns the codes of Put.
  absl::Status Apply(const StoreOperation& operation);
  /// The operations that make an empty store answer as this one does. Values are shared, not
  /// copied.
  std::vector<StoreOperation> Snapshot() const;

  const std::vector<Slot>& plan() const { return plan_; }
  /// The scopes by name.
  std::map<std::string, const RendezvousScope*> scopes() const;
  size_t bytes() const { return bytes_; }
  size_t keys() const { return keys_; }

 private:
  void Clear(const std::string& name, RendezvousScope& scope);
  void RemoveFromSized(const std::string& name, RendezvousScope& scope, const std::string& key);
  void RemoveFromAdHoc(const std::string& name, RendezvousScope& scope, const std::string& key);

  const StoreLimits limits_;
  std::vector<Slot> plan_;
  absl::flat_hash_map<std::string, RendezvousScope> scopes_;
  size_t bytes_ = 0;
  size_t keys_ = 0;
};

}  // namespace tony::core
