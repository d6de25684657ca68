// One hash map per scope, with running totals of bytes and keys, so that a limit costs one
// comparison.
#include "core/rendezvous/rendezvous_store.h"

#include <algorithm>
#include <charconv>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace tony::core {
namespace {

/// True for the scopes of horovod.run(): the function, and its results.
bool BelongsToJob(const std::string& scope) {
  return scope == "runfunc" || scope == "runfunc_result";
}

size_t Cost(const std::string& scope, const std::string& key, const Blob& value) {
  return scope.size() + key.size() + (value == nullptr ? 0 : value->size());
}

/// False for "01" as well: each rank has exactly one key.
bool IsMember(const std::string& key, int size) {
  int rank = -1;
  const char* const end = key.data() + key.size();
  const auto [parsed, error] = std::from_chars(key.data(), end, rank);
  return error == std::errc() && parsed == end && rank >= 0 && rank < size &&
         key == std::to_string(rank);
}

}  // namespace

bool IsAddressKey(const std::string& key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](char character) {
    return absl::ascii_isdigit(static_cast<unsigned char>(character));
  });
}

std::string NameKey(int rank) { return absl::StrCat("rank_", rank); }

bool IsForDriverOnly(const std::string& scope) { return scope == kWorkerAddressScope; }

Patience PatienceFor(const std::string& scope, const std::string& key) {
  if (scope == kRankScope) return Patience::kNoEnd;
  return IsAddressKey(key) ? Patience::kSome : Patience::kNone;
}

StoreLimits StoreLimits::For(int processes) {
  // A few scopes of all ranks are filled at a time, and each has one address per pair of ranks.
  constexpr size_t kScopesAtATime = 4;
  constexpr size_t kOtherBytes = size_t{64} * 1024 * 1024;
  constexpr size_t kOtherKeys = 1024;
  constexpr size_t kKeysPerProcess = 64;
  const auto count = static_cast<size_t>(std::max(processes, 1));
  return {.bytes = kOtherBytes + kScopesAtATime * kAddressBytes * count * count,
          .keys = kOtherKeys + kKeysPerProcess * count};
}

void RendezvousStore::Begin(const std::vector<Slot>& plan) {
  plan_ = plan;
  for (auto& [name, scope] : scopes_) {
    if (!BelongsToJob(name)) Clear(name, scope);
  }
  absl::erase_if(scopes_, [](const auto& scope) { return !BelongsToJob(scope.first); });
  for (const Slot& slot : plan) {
    scopes_["global"].size = slot.size;
    scopes_[absl::StrCat("local_", slot.host)].size = slot.local_size;
    scopes_[absl::StrCat("cross_", slot.local_rank)].size = slot.cross_size;
  }
}

absl::Status RendezvousStore::Put(const std::string& scope, const std::string& key, Blob value) {
  const auto known = scopes_.find(scope);
  const RendezvousScope::Entry* old = nullptr;
  if (known != scopes_.end()) {
    const auto entry = known->second.entries.find(key);
    if (entry != known->second.entries.end()) old = &entry->second;
  }
  const size_t new_bytes =
      bytes_ - (old == nullptr ? 0 : Cost(scope, key, old->value)) + Cost(scope, key, value);
  const size_t new_keys = keys_ + (old == nullptr ? 1 : 0);
  if (new_bytes > limits_.bytes || new_keys > limits_.keys) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "no room for ", value->size(), " bytes more in the rendezvous store, which has ", bytes_,
        " of at most ", limits_.bytes, " bytes, under ", keys_, " of at most ", limits_.keys,
        " keys; large arguments and results of horovod.run() belong into files"));
  }
  bytes_ = new_bytes;
  keys_ = new_keys;

  // A rank that puts its addresses again is not connected any more.
  RendezvousScope& target = scopes_[scope];
  RendezvousScope::Entry& entry = target.entries[key];
  if (entry.finished) --target.finished;
  entry.finished = false;
  if (entry.value == nullptr && IsAddressKey(key)) ++target.addresses;
  entry.value = std::move(value);
  return absl::OkStatus();
}

void RendezvousStore::Remove(const std::string& scope, const std::string& key) {
  const auto found = scopes_.find(scope);
  if (found == scopes_.end()) return;
  if (found->second.size > 0) return RemoveFromSized(scope, found->second, key);
  RemoveFromAdHoc(scope, found->second, key);
  if (found->second.entries.empty()) scopes_.erase(found);
}

void RendezvousStore::RemoveFromSized(const std::string& name, RendezvousScope& scope,
                                      const std::string& key) {
  if (!IsMember(key, scope.size)) return;
  const auto [entry, is_new] = scope.entries.try_emplace(key);
  if (is_new) {
    ++keys_;  // not checked: at most one key per rank
    bytes_ += Cost(name, key, nullptr);
  }
  if (entry->second.finished) return;
  entry->second.finished = true;
  if (++scope.finished < scope.size) return;
  Clear(name, scope);
  ++scope.completions;
}

void RendezvousStore::RemoveFromAdHoc(const std::string& name, RendezvousScope& scope,
                                      const std::string& key) {
  const auto found = scope.entries.find(key);
  if (found == scope.entries.end() || found->second.finished) return;
  bytes_ -= Cost(name, key, found->second.value);
  if (!IsAddressKey(key)) {
    --keys_;
    scope.entries.erase(found);
    return;
  }
  // The key remains, to tell a connected rank from one that has not come yet.
  found->second = {.value = nullptr, .finished = true};
  bytes_ += Cost(name, key, nullptr);
  ++scope.finished;
  if (--scope.addresses == 0) Clear(name, scope);
}

Blob RendezvousStore::Get(const std::string& scope, const std::string& key) const {
  const auto found = scopes_.find(scope);
  if (found == scopes_.end()) return nullptr;
  const auto entry = found->second.entries.find(key);
  return entry == found->second.entries.end() ? nullptr : entry->second.value;
}

void RendezvousStore::Clear(const std::string& name, RendezvousScope& scope) {
  for (const auto& [key, entry] : scope.entries) bytes_ -= Cost(name, key, entry.value);
  keys_ -= scope.entries.size();
  scope.entries.clear();
  scope.finished = 0;
  scope.addresses = 0;
}

absl::Status RendezvousStore::Apply(const StoreOperation& operation) {
  if (const auto* put = std::get_if<PutValue>(&operation)) {
    return Put(put->scope, put->key, put->value);
  }
  if (const auto* remove = std::get_if<RemoveValue>(&operation)) {
    Remove(remove->scope, remove->key);
  } else {
    Begin(std::get<BeginRound>(operation).plan);
  }
  return absl::OkStatus();
}

std::vector<StoreOperation> RendezvousStore::Snapshot() const {
  std::vector<StoreOperation> operations;
  operations.emplace_back(BeginRound{plan_});
  const auto nothing = std::make_shared<const std::string>();
  std::vector<StoreOperation> removals;  // after all values: a scope would end too early otherwise
  for (const auto& [name, scope] : scopes_) {
    for (const auto& [key, entry] : scope.entries) {
      operations.emplace_back(PutValue{name, key, entry.value == nullptr ? nothing : entry.value});
      if (entry.finished) removals.emplace_back(RemoveValue{name, key});
    }
  }
  operations.insert(operations.end(), removals.begin(), removals.end());
  return operations;
}

std::map<std::string, const RendezvousScope*> RendezvousStore::scopes() const {
  std::map<std::string, const RendezvousScope*> scopes;
  for (const auto& [name, scope] : scopes_) scopes.emplace(name, &scope);
  return scopes;
}

}  // namespace tony::core
