// A store that follows another one, so that reads stay on this machine.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "common/event_loop.h"
#include "core/rendezvous/rendezvous_store.h"
#include "core/rendezvous/replica_messages.h"
#include "rendezvous/key_value_store.h"
#include "rendezvous/local_store.h"
#include "rendezvous/waiters.h"

namespace tony::rendezvous {

/// The authoritative end of one connected replica. From construction on it sends a snapshot, then
/// each change, except the values for the driver alone. Not thread safe: owned by the event loop.
class ReplicaFeed {
 public:
  using Send = std::function<void(core::ReplicaMessage)>;

  /// `send` keeps the order, and does not call the feed or the store. `store` must outlive the
  /// feed.
  ReplicaFeed(LocalStore& store, Send send);

  void OnRequest(const core::ReplicaRequest& request);

 private:
  void OnChange(const core::ChangeRequest& request);

  LocalStore& store_;
  const Send send_;
  std::unique_ptr<EventLoop::Handle> watch_;
};

/// The end with the readers. Reads are answered from the values received so far; changes are sent
/// to the authoritative store and done when that says so. While it is not connected, it goes on
/// answering reads and keeps the requested changes until it is connected again. A change may
/// therefore be made twice, which Put and Remove allow. The authoritative store enforces the
/// limits, so this one has none. Not thread safe: owned by the event loop.
class ReplicaStore : public KeyValueStore {
 public:
  using Send = std::function<void(const core::ReplicaRequest&)>;

  explicit ReplicaStore(EventLoop& loop);

  /// The replica is connected, and the feed is about to send its snapshot. `send` keeps the order,
  /// and does not call the store.
  void Attach(Send send);
  /// The replica is disconnected. Messages still on their way must not be passed to OnMessage() any
  /// more.
  void Detach();
  void OnMessage(const core::ReplicaMessage& message);

  core::Blob Get(const std::string& scope, const std::string& key) override;
  [[nodiscard]] std::unique_ptr<EventLoop::Handle> Await(const std::string& scope,
                                                         const std::string& key,
                                                         OnValue on_value) override;
  void Put(const std::string& scope, const std::string& key, core::Blob value,
           OnDone on_done) override;
  void Remove(const std::string& scope, const std::string& key, OnDone on_done) override;

  const core::RendezvousStore& content() const { return *store_; }

 private:
  struct Pending {
    core::ChangeRequest request;
    OnDone on_done;
  };

  using Asks = std::list<core::AskedFor>;

  void OnMark(core::SnapshotMark mark);
  void OnOperation(const core::StoreOperation& operation);
  void OnChangeDone(const core::ChangeDone& done);
  void Ask(std::variant<core::PutValue, core::RemoveValue> change, OnDone on_done);

  Waiters waiters_;
  std::unique_ptr<core::RendezvousStore> store_;
  std::unique_ptr<core::RendezvousStore> next_;  ///< the snapshot being received; otherwise null
  Send send_;                                    ///< null: not connected
  uint64_t last_id_ = 0;
  std::map<uint64_t, Pending> pending_;
  /// Waits without end, of readers that wait now. Shared with their handles, which may outlive the
  /// store.
  const std::shared_ptr<Asks> asks_ = std::make_shared<Asks>();
};

}  // namespace tony::rendezvous
