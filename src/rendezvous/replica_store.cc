// Replication of one log of operations: changes are requested from the authoritative store, and
// operations come back in its order.
#include "rendezvous/replica_store.h"

#include <limits>
#include <utility>

#include "common/logging.h"

namespace tony::rendezvous {

namespace {

/// Values with secrets stay in the authoritative store.
bool IsForReplicas(const core::StoreOperation& operation) {
  if (const auto* put = std::get_if<core::PutValue>(&operation)) {
    return !core::IsForDriverOnly(put->scope);
  }
  const auto* remove = std::get_if<core::RemoveValue>(&operation);
  return remove == nullptr || !core::IsForDriverOnly(remove->scope);
}

std::unique_ptr<core::RendezvousStore> EmptyStore() {
  return std::make_unique<core::RendezvousStore>(core::StoreLimits{
      .bytes = std::numeric_limits<size_t>::max(), .keys = std::numeric_limits<size_t>::max()});
}

}  // namespace

ReplicaFeed::ReplicaFeed(LocalStore& store, Send send) : store_(store), send_(std::move(send)) {
  send_(core::SnapshotMark::kBegin);
  watch_ = store.Watch([this](const core::StoreOperation& operation) {
    if (IsForReplicas(operation)) send_(operation);
  });
  send_(core::SnapshotMark::kEnd);
}

void ReplicaFeed::OnRequest(const core::ReplicaRequest& request) {
  if (const auto* change = std::get_if<core::ChangeRequest>(&request)) return OnChange(*change);
  const auto& asked = std::get<core::AskedFor>(request);
  store_.TellAsked(asked.scope, asked.key);
}

void ReplicaFeed::OnChange(const core::ChangeRequest& request) {
  const auto on_done = [this, id = request.id](const absl::Status& status) {
    send_(core::ChangeDone{id, status});
  };
  if (const auto* put = std::get_if<core::PutValue>(&request.change)) {
    return store_.Put(put->scope, put->key, put->value, on_done);
  }
  const auto& remove = std::get<core::RemoveValue>(request.change);
  store_.Remove(remove.scope, remove.key, on_done);
}

ReplicaStore::ReplicaStore(EventLoop& loop) : waiters_(loop), store_(EmptyStore()) {}

// Requests without an answer are sent again: the old connection may have lost them. Waits are
// announced again as well, because a new feed knows nothing of them.
void ReplicaStore::Attach(Send send) {
  LogDebug("the store is connected: unanswered requests are sent (again)",
           {{"requests", pending_.size()}, {"waits", asks_->size()}});
  send_ = std::move(send);
  for (const auto& [id, pending] : pending_) send_(pending.request);
  for (const core::AskedFor& asked : *asks_) send_(asked);
}

void ReplicaStore::Detach() {
  send_ = nullptr;
  next_.reset();
}

void ReplicaStore::OnMessage(const core::ReplicaMessage& message) {
  if (const auto* mark = std::get_if<core::SnapshotMark>(&message)) return OnMark(*mark);
  if (const auto* done = std::get_if<core::ChangeDone>(&message)) return OnChangeDone(*done);
  OnOperation(std::get<core::StoreOperation>(message));
}

// A snapshot is collected beside the present values, which answer reads until it is complete.
// Afterwards every waiting reader whose value is in the snapshot is notified, since the put may
// have happened while the replica was not connected.
void ReplicaStore::OnMark(core::SnapshotMark mark) {
  if (mark == core::SnapshotMark::kBegin) {
    next_ = EmptyStore();
    return;
  }
  if (next_ == nullptr) return LogDebug("the end of a snapshot without a begin is ignored");
  store_ = std::move(next_);
  for (const auto& [name, scope] : store_->scopes()) {
    for (const auto& [key, entry] : scope->entries) {
      if (entry.value != nullptr) waiters_.Notify(name, key, entry.value);
    }
  }
}

void ReplicaStore::OnOperation(const core::StoreOperation& operation) {
  core::RendezvousStore& store = next_ != nullptr ? *next_ : *store_;
  (void)store.Apply(operation);  // has no limits to exceed
  const auto* put = std::get_if<core::PutValue>(&operation);
  if (put != nullptr && next_ == nullptr) waiters_.Notify(put->scope, put->key, put->value);
}

void ReplicaStore::OnChangeDone(const core::ChangeDone& done) {
  auto pending = pending_.extract(done.id);
  if (pending.empty()) return LogDebug("a second answer to a change is ignored", {{"id", done.id}});
  pending.mapped().on_done(done.status);
}

core::Blob ReplicaStore::Get(const std::string& scope, const std::string& key) {
  return store_->Get(scope, key);
}

// Waits without end are recorded until their handle is destroyed, so that they can be announced on
// every new connection.
std::unique_ptr<EventLoop::Handle> ReplicaStore::Await(const std::string& scope,
                                                       const std::string& key, OnValue on_value) {
  auto wait = waiters_.Add(scope, key, std::move(on_value));
  if (core::PatienceFor(scope, key) != core::Patience::kNoEnd) return wait;
  struct Ask : EventLoop::Handle {
    ~Ask() override { asks->erase(position); }
    std::shared_ptr<Asks> asks;
    Asks::iterator position;
    std::unique_ptr<EventLoop::Handle> wait;
  };
  auto ask = std::make_unique<Ask>();
  ask->asks = asks_;
  ask->position = asks_->insert(asks_->end(), core::AskedFor{scope, key});
  ask->wait = std::move(wait);
  if (send_ != nullptr) send_(asks_->back());
  return ask;
}

void ReplicaStore::Put(const std::string& scope, const std::string& key, core::Blob value,
                       OnDone on_done) {
  Ask(core::PutValue{scope, key, std::move(value)}, std::move(on_done));
}

void ReplicaStore::Remove(const std::string& scope, const std::string& key, OnDone on_done) {
  Ask(core::RemoveValue{scope, key}, std::move(on_done));
}

void ReplicaStore::Ask(std::variant<core::PutValue, core::RemoveValue> change, OnDone on_done) {
  const uint64_t id = ++last_id_;
  const auto& pending =
      pending_.emplace(id, Pending{{id, std::move(change)}, std::move(on_done)}).first->second;
  if (send_ != nullptr) send_(pending.request);
}

}  // namespace tony::rendezvous
