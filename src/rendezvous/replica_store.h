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

/// Where the truth is, for one replica that is connected: from construction on it is told what is
/// there, then each change, without what is for the driver alone. Not thread safe: owned by the
/// event loop.
class ReplicaFeed {
 public:
  using Send = std::function<void(core::ReplicaMessage)>;

  /// `send` keeps the order, and does not call the feed or the store. `store` outlives the feed.
  ReplicaFeed(LocalStore& store, Send send);

  void OnRequest(const core::ReplicaRequest& request);

 private:
  void OnChange(const core::ChangeRequest& request);

  LocalStore& store_;
  const Send send_;
  std::unique_ptr<EventLoop::Handle> watch_;
};

/// Where the readers are. Answers from what it was told; changes are asked for and done when the
/// truth says so. While it is not connected it answers from what it knows, and keeps what is asked
/// for until it is connected again: both changes may be made twice. Has no limits of its own: the
/// truth has. Not thread safe: owned by the event loop.
class ReplicaStore : public KeyValueStore {
 public:
  using Send = std::function<void(const core::ReplicaRequest&)>;

  explicit ReplicaStore(EventLoop& loop);

  /// Connected: a feed begins to tell what it has. `send` keeps the order, and does not call the
  /// store.
  void Attach(Send send);
  /// Not connected any more. What is on its way is not to come any more, either.
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
  std::unique_ptr<core::RendezvousStore> next_;  ///< while a snapshot comes
  Send send_;                                    ///< null: not connected
  uint64_t last_id_ = 0;
  std::map<uint64_t, Pending> pending_;
  /// Of those who wait by now. Shared with their handles, which may live longer.
  const std::shared_ptr<Asks> asks_ = std::make_shared<Asks>();
};

}  // namespace tony::rendezvous
