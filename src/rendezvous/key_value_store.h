// The port between the rendezvous server and the values: here or, as a replica, of another process.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "common/event_loop.h"
#include "core/rendezvous/rendezvous_store.h"

namespace tony::rendezvous {

/// Values by scope and key, as core::RendezvousStore means them. Reads are answered at once from
/// what is known here; changes may have to travel. Whoever has heard that a change of theirs is
/// done reads it. Not thread safe: owned by the event loop.
class KeyValueStore {
 public:
  using OnValue = std::function<void(const core::Blob&)>;
  using OnDone = std::function<void(const absl::Status&)>;

  virtual ~KeyValueStore() = default;

  /// Null: there is none.
  virtual core::Blob Get(const std::string& scope, const std::string& key) = 0;
  /// `on_value` follows, once, with the next value that is put there, unless the handle is
  /// destroyed before; never from within a call to the store.
  [[nodiscard]] virtual std::unique_ptr<EventLoop::Handle> Await(const std::string& scope,
                                                                 const std::string& key,
                                                                 OnValue on_value) = 0;
  /// `value` is not null. `on_done` follows, once, maybe from within the call. ResourceExhausted –
  /// the store is full; Unavailable – what has the truth cannot be reached.
  virtual void Put(const std::string& scope, const std::string& key, core::Blob value,
                   OnDone on_done) = 0;
  /// Also of what is not there. As Put, without ResourceExhausted.
  virtual void Remove(const std::string& scope, const std::string& key, OnDone on_done) = 0;
};

}  // namespace tony::rendezvous
