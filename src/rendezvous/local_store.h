// The authoritative store of a rendezvous; replicas follow it.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/event_loop.h"
#include "core/rendezvous/rendezvous_store.h"
#include "rendezvous/key_value_store.h"
#include "rendezvous/waiters.h"

namespace tony::rendezvous {

/// Reports each change to its watchers, in the order of the changes. A replica that applies the
/// same operations answers exactly as this store does. Not thread safe: owned by the event loop.
class LocalStore : public KeyValueStore {
 public:
  using OnChange = std::function<void(const core::StoreOperation&)>;

  /// Called when a client, here or at a replica, begins to wait without end
  /// (core::Patience::kNoEnd) for a value that is not there: a worker of an elastic job waits so
  /// for its place in the next round. May be called again for the same wait. May call the store.
  using OnAsked = std::function<void(const std::string& scope, const std::string& key)>;

  LocalStore(EventLoop& loop, core::StoreLimits limits, OnAsked on_asked = nullptr)
      : on_asked_(std::move(on_asked)), waiters_(loop), store_(limits) {}

  /// Begins a round: forgets everything of the last round. Waits for values continue.
  void Begin(const std::vector<core::Slot>& plan);
  /// Gives a value only to those who are waiting for it now, here and at replicas. The codes of
  /// Put.
  absl::Status HandOut(const std::string& scope, const std::string& key, core::Blob value);

  core::Blob Get(const std::string& scope, const std::string& key) override;
  [[nodiscard]] std::unique_ptr<EventLoop::Handle> Await(const std::string& scope,
                                                         const std::string& key,
                                                         OnValue on_value) override;
  void Put(const std::string& scope, const std::string& key, core::Blob value,
           OnDone on_done) override;
  void Remove(const std::string& scope, const std::string& key, OnDone on_done) override;

  /// `on_change` is first called from within this call, with the operations that make an empty
  /// store equal to this one. It is then called with each change, before the author of the change
  /// hears that it is done. It ends when the handle is destroyed, which must happen before the
  /// store is destroyed. It must not call the store.
  [[nodiscard]] std::unique_ptr<EventLoop::Handle> Watch(OnChange on_change);

  /// Called by a replica's feed when a client of the replica begins to wait without end.
  void TellAsked(const std::string& scope, const std::string& key);

  const core::RendezvousStore& content() const { return store_; }

 private:
  absl::Status Change(const core::StoreOperation& operation);

  const OnAsked on_asked_;
  Waiters waiters_;
  core::RendezvousStore store_;
  std::list<OnChange> watchers_;
};

}  // namespace tony::rendezvous
