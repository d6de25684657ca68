// The readers that wait for values that are not there yet.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "common/event_loop.h"
#include "core/rendezvous/rendezvous_store.h"
#include "rendezvous/key_value_store.h"

namespace tony::rendezvous {

/// Not thread safe: owned by the event loop.
class Waiters {
 public:
  explicit Waiters(EventLoop& loop) : loop_(loop) {}
  Waiters(const Waiters&) = delete;
  Waiters& operator=(const Waiters&) = delete;

  /// `on_value` follows Notify(), from the loop, unless the handle is destroyed first.
  [[nodiscard]] std::unique_ptr<EventLoop::Handle> Add(const std::string& scope,
                                                       const std::string& key,
                                                       KeyValueStore::OnValue on_value);
  /// Gives `value` to all who wait for it now.
  void Notify(const std::string& scope, const std::string& key, const core::Blob& value);

 private:
  struct Waiter;
  using StoreKey = std::pair<std::string, std::string>;  ///< scope and key
  using WaitersByKey = std::map<StoreKey, std::list<std::shared_ptr<Waiter>>>;

  EventLoop& loop_;
  /// Shared with the handles, which may outlive this.
  const std::shared_ptr<WaitersByKey> waiters_ = std::make_shared<WaitersByKey>();
};

}  // namespace tony::rendezvous
