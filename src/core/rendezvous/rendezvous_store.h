// What the processes of a Horovod job tell each other before they are connected: values by scope
// and key.
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

/// Of one address of Gloo's on 64-bit Linux, a sockaddr_storage and a number; a rank puts one for
/// each other rank.
inline constexpr size_t kAddressBytes = 136;

/// Stored once, shared by all who send it.
using Blob = std::shared_ptr<const std::string>;

/// True for a key of digits only, under which a rank puts its addresses.
bool IsAddressKey(const std::string& key);
/// "rank_3", under which rank 3 puts its machine's name.
std::string NameKey(int rank);

/// The scope in which a worker of an elastic job asks for its place in the next round.
inline constexpr char kPlaceScope[] = "rank_and_size";

/// The scope in which a worker of an elastic job says where its driver reaches it, and by which
/// secret it knows the driver. Whoever has that secret has the worker run what he likes. So nobody
/// reads it: who has the truth hears of each change, and neither a client nor a replica does.
inline constexpr char kWorkerAddressScope[] = "worker_addresses";
/// Whether values of this scope are for the driver alone.
bool IsForDriverOnly(const std::string& scope);

/// How long an answer about a value that is not there may be held back.
enum class Patience {
  kNone,   ///< not at all: whoever asks only guesses
  kSome,   ///< for a while; whoever asks will ask again, and has a deadline
  kNoEnd,  ///< until the value comes: whoever asks takes "not there" for a value
};
Patience PatienceFor(const std::string& scope, const std::string& key);

struct StoreLimits {
  size_t bytes = 0;  ///< of scopes, keys and values
  size_t keys = 0;   ///< in all scopes

  /// Enough for the rendezvous of so many processes, several process sets, and functions that
  /// horovod.run() sends.
  static StoreLimits For(int processes);
};

/// What changes a store. Stores to which the same operations are applied in the same order are
/// equal.
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

/// One scope, as somebody sees it who wants to know how far its ranks are. Plain data.
struct RendezvousScope {
  struct Entry {
    Blob value;             ///< null: removed, or never put
    bool finished = false;  ///< its rank has removed it: it is connected to all others
  };
  int size = 0;         ///< ranks; 0: not known (an ad hoc scope)
  int finished = 0;     ///< entries
  int addresses = 0;    ///< values under address keys
  int completions = 0;  ///< how often all ranks of a sized scope have finished
  absl::flat_hash_map<std::string, Entry> entries;
};

/// Horovod's scopes are of two kinds.
///
/// 1. Sized ones are made of the plan of the round: "global", "local_HOST" and "cross_LOCAL-RANK".
///    A removal of an address key, 0 to size-1, says that the rank is connected. When all have said
///    so the scope is emptied, to be used again. Unlike in Horovod a rank is counted once however
///    often it says so, and the end of one scope means nothing to the others.
/// 2. Ad hoc ones come with their first value: one for each process set, "runfunc", and others. A
///    removal is one; the scope goes with the last of its addresses, together with the names that
///    nobody removes.
///
/// A new round begins with nothing but what horovod.run() has put, which belongs to the job.
/// Not thread safe. Does no I/O.
class RendezvousStore {
 public:
  explicit RendezvousStore(StoreLimits limits) : limits_(limits) {}

  /// Forgets all of the last round.
  void Begin(const std::vector<Slot>& plan);
  /// The last one counts; `value` is not null. ResourceExhausted – a limit would be exceeded.
  absl::Status Put(const std::string& scope, const std::string& key, Blob value);
  /// What is not there may be removed, too.
  void Remove(const std::string& scope, const std::string& key);
  /// Null: there is none.
  Blob Get(const std::string& scope, const std::string& key) const;

  /// The codes of Put.
  absl::Status Apply(const StoreOperation& operation);
  /// What makes an empty store answer as this one does. Does not copy values.
  std::vector<StoreOperation> Snapshot() const;

  const std::vector<Slot>& plan() const { return plan_; }
  /// By name.
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
