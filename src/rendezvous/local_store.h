// The store that has the truth.
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

/// Whoever watches sees each change, in the order in which they are made: a replica to which the
/// same operations are applied answers as this one does. Not thread safe: owned by the event loop.
class LocalStore : public KeyValueStore {
 public:
  using OnChange = std::function<void(const core::StoreOperation&)>;

  /// Somebody, here or at a replica, waits without end (core::Patience::kNoEnd) for a value that is
  /// not there: a worker of an elastic job, for its place in the next round. Maybe again, while the
  /// same one waits. May call the store.
  using OnAsked = std::function<void(const std::string& scope, const std::string& key)>;

  LocalStore(EventLoop& loop, core::StoreLimits limits, OnAsked on_asked = nullptr)
      : on_asked_(std::move(on_asked)), waiters_(loop), store_(limits) {}

  /// Begins a round: forgets all of the last one. Who waits goes on waiting.
  void Begin(const std::vector<core::Slot>& plan);
  /// Puts a value for those only who wait for it by now, here and at replicas. The codes of Put.
  absl::Status HandOut(const std::string& scope, const std::string& key, core::Blob value);

  core::Blob Get(const std::string& scope, const std::string& key) override;
  [[nodiscard]] std::unique_ptr<EventLoop::Handle> Await(const std::string& scope,
                                                         const std::string& key,
                                                         OnValue on_value) override;
  void Put(const std::string& scope, const std::string& key, core::Blob value,
           OnDone on_done) override;
  void Remove(const std::string& scope, const std::string& key, OnDone on_done) override;

  /// `on_change` hears first, from within this call, of what makes an empty store equal to this
  /// one, then of each change, before whoever made it hears that it is done; until the handle is
  /// destroyed, which is before the store is. It does not call the store.
  [[nodiscard]] std::unique_ptr<EventLoop::Handle> Watch(OnChange on_change);

  /// For a replica's feed: somebody waits there.
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
