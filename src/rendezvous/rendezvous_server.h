// Horovod's rendezvous server: serves values over HTTP to unmodified workers.
#pragma once

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "common/event_loop.h"
#include "common/peer_filter.h"
#include "rendezvous/key_value_store.h"
#include "rendezvous/rendezvous_limits.h"

namespace tony::rendezvous {

/// Answers GET, PUT and DELETE of /SCOPE/KEY from a store, one request per connection, on this
/// machine's 127.0.0.1 only. It serves the peers that a PeerCheck allows: every user of the machine
/// can connect, but only the job's own programs have business here. Other connections are closed at
/// once and do not count against the limits.
///
/// 1. 200 – done, with the value or an empty body; 404 – there is no such value. Each answer has
///    Content-Length, in exactly this spelling, because Horovod's client finds no other.
/// 2. A GET for which core::PatienceFor() allows a wait is held until the value is put or the time
///    for it is over. Then the answer is 404, and the client asks again until its own time is over.
///    Values for the driver alone (core::IsForDriverOnly()) are always answered 404.
/// 3. A request that cannot be carried out is answered with a sentence: 400, 403, 405, 411, 505 as
///    ReadHead(); 408 – the request did not come in time; 413, 431 – its body or head is too long;
///    503 – too much is going on, or the store cannot be reached; 507 – the store is full.
///    Horovod's client tries again after half a second, twice.
///
/// Every wait has a deadline, except the wait for a new place in an elastic job, which ends with
/// its client. If there are too many connections, the oldest one that waits in this way is closed
/// for a new one. No client can fill the memory. Not thread safe: owned by the event loop.
class RendezvousServer {
 public:
  using Limits = RendezvousLimits;
  using Counts = RendezvousCounts;

  /// Connections waiting to be accepted; the kernel may allow fewer (net.core.somaxconn).
  static constexpr int kBacklog = 4096;

  /// `port`: 0 means any free one. `peers`: the peers to serve. `store` must outlive the server.
  /// Unavailable – the port cannot be listened on.
  static absl::StatusOr<std::unique_ptr<RendezvousServer>> Start(EventLoop& loop,
                                                                 KeyValueStore& store, int port,
                                                                 PeerCheck peers, Limits limits);
  /// Closes all connections.
  ~RendezvousServer();
  RendezvousServer(const RendezvousServer&) = delete;
  RendezvousServer& operator=(const RendezvousServer&) = delete;

  int port() const;
  const Counts& counts() const;
  size_t connections() const;

 private:
  class Connection;
  class State;

  explicit RendezvousServer(std::shared_ptr<State> state);

  std::shared_ptr<State> state_;
};

}  // namespace tony::rendezvous
