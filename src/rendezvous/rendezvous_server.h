// Horovod's rendezvous server: values over HTTP, for unmodified workers.
#pragma once

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "common/event_loop.h"
#include "common/peer_filter.h"
#include "rendezvous/key_value_store.h"
#include "rendezvous/rendezvous_limits.h"

namespace tony::rendezvous {

/// Answers GET, PUT and DELETE of /SCOPE/KEY from a store, one request for each connection, on this
/// machine's 127.0.0.1 only, for the peers that a PeerCheck allows: each user of the machine can
/// connect, but only the job's own programs have business here. Others are closed at once, and take
/// no place from these.
///
/// 1. 200 with the value or nothing; 404 – there is no such value. Each answer has Content-Length,
///    spelled so: Horovod's client finds it in no other spelling.
/// 2. A GET of what core::PatienceFor() allows to wait for is held until the value is put, or the
///    time for it is over: then 404, and the client asks again, until its own time is over. Values
///    for the driver alone (core::IsForDriverOnly()) are answered 404 always.
/// 3. What cannot be carried out is answered with a sentence: 400, 403, 405, 411, 505 as
///    ReadHead(); 408 – the request did not come in time; 413, 431 – its body or head is too long;
///    503 – too much is going on, or the store cannot be reached; 507 – the store is full.
///    Horovod's client tries again after half a second, twice.
///
/// No wait is without a deadline but the one for a new place in an elastic job, which ends with its
/// client; when there are too many connections, the oldest one that waits so makes room for a new
/// one. Nothing that clients send fills the memory. Not thread safe: owned by the event loop.
class RendezvousServer {
 public:
  using Limits = RendezvousLimits;
  using Counts = RendezvousCounts;

  /// Connections that wait to be accepted; the kernel may allow less (net.core.somaxconn).
  static constexpr int kBacklog = 4096;

  /// Port 0: any free one. `peers`: whom it serves. `store` outlives the server. Unavailable – it
  /// cannot be listened on.
  static absl::StatusOr<std::unique_ptr<RendezvousServer>> Start(EventLoop& loop,
                                                                 KeyValueStore& store, int port,
                                                                 PeerCheck peers, Limits limits);
  /// Closes what is open.
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
