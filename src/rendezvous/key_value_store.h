// The port between the rendezvous server and the values, which are local or a replica of another
// process's.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "common/event_loop.h"
#include "core/rendezvous/rendezvous_store.h"

namespace tony::rendezvous {

/// Values by scope and key, with the meaning of core::RendezvousStore. Reads are answered at once
/// from the values known here; changes may have to travel. A client that has heard that its change
/// is done reads its own change. Not thread safe: owned by the event loop.
class KeyValueStore {
 public:
  using OnValue = std::function<void(const core::Blob&)>;
  using OnDone = std::function<void(const absl::Status&)>;

  virtual ~KeyValueStore() = default;

  /// Returns the value; null: there is none.
  virtual core::Blob Get(const std::string& scope, const std::string& key) = 0;
  /// `on_value` follows once, with the next value put under this key, unless the handle is
  /// destroyed first; never from within a call to the store.
  [[nodiscard]] virtual std::unique_ptr<EventLoop::Handle> Await(const std::string& scope,
                                                                 const std::string& key,
                                                                 OnValue on_value) = 0;
  /// `value` is not null. `on_done` follows once, perhaps from within the call. ResourceExhausted –
  /// the store is full; Unavailable – the authoritative store cannot be reached.
  virtual void Put(const std::string& scope, const std::string& key, core::Blob value,
                   OnDone on_done) = 0;
  /// Removes the value; removing a missing value is no error. As Put, without ResourceExhausted.
  virtual void Remove(const std::string& scope, const std::string& key, OnDone on_done) = 0;
};

}  // namespace tony::rendezvous
