// Every change is applied to the store first. If the store accepts it, it goes to the watchers (the
// replicas among them), then to the waiting readers, and last to its author.
#include "rendezvous/local_store.h"

#include <utility>

namespace tony::rendezvous {

void LocalStore::Begin(const std::vector<core::Slot>& plan) {
  (void)Change(core::BeginRound{plan});  // only putting a value can fail
}

core::Blob LocalStore::Get(const std::string& scope, const std::string& key) {
  return store_.Get(scope, key);
}

std::unique_ptr<EventLoop::Handle> LocalStore::Await(const std::string& scope,
                                                     const std::string& key, OnValue on_value) {
  auto wait = waiters_.Add(scope, key, std::move(on_value));
  if (core::PatienceFor(scope, key) == core::Patience::kNoEnd) TellAsked(scope, key);
  return wait;
}

void LocalStore::TellAsked(const std::string& scope, const std::string& key) {
  if (on_asked_) on_asked_(scope, key);
}

absl::Status LocalStore::HandOut(const std::string& scope, const std::string& key,
                                 core::Blob value) {
  // Putting and removing the value at once reaches exactly those who wait: they were taken off the
  // list of waiters by the put, and nobody who asks later finds the value.
  absl::Status result;
  Put(scope, key, std::move(value), [&result](const absl::Status& status) { result = status; });
  Remove(scope, key, [](const absl::Status&) {});
  return result;
}

void LocalStore::Put(const std::string& scope, const std::string& key, core::Blob value,
                     OnDone on_done) {
  const absl::Status status = Change(core::PutValue{scope, key, value});
  if (status.ok()) waiters_.Notify(scope, key, value);
  on_done(status);
}

void LocalStore::Remove(const std::string& scope, const std::string& key, OnDone on_done) {
  on_done(Change(core::RemoveValue{scope, key}));
}

std::unique_ptr<EventLoop::Handle> LocalStore::Watch(OnChange on_change) {
  struct Watcher : EventLoop::Handle {
    ~Watcher() override { watchers->erase(position); }
    std::list<OnChange>* watchers = nullptr;
    std::list<OnChange>::iterator position;
  };
  for (const core::StoreOperation& operation : store_.Snapshot()) on_change(operation);
  auto watcher = std::make_unique<Watcher>();
  watcher->watchers = &watchers_;
  watcher->position = watchers_.insert(watchers_.end(), std::move(on_change));
  return watcher;
}

absl::Status LocalStore::Change(const core::StoreOperation& operation) {
  const absl::Status status = store_.Apply(operation);
  if (!status.ok()) return status;
  for (const OnChange& watcher : watchers_) watcher(operation);
  return status;
}

}  // namespace tony::rendezvous
