// Horovod's rendezvous server: values over HTTP, for unmodified workers.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "common/event_loop.h"
#include "common/peer_filter.h"
#include "web/rendezvous/key_value_store.h"

namespace tony::web {

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
  struct Limits {
    size_t connections = 4096;  ///< more are answered 503, where none can make room
    /// Connections that may wait for a value; more are answered 404 at once.
    size_t waiting = 2048;
    size_t body_bytes = size_t{64} * 1024 * 1024;        ///< of one request
    size_t receiving_bytes = size_t{256} * 1024 * 1024;  ///< of all requests that are on their way
    std::chrono::milliseconds request{10'000};           ///< for the client, to send it
    std::chrono::milliseconds hold{5'000};               ///< for the value, to be put
    std::chrono::milliseconds change{30'000};            ///< for the store, to carry out a change
    std::chrono::milliseconds response{60'000};          ///< for the client, to take it
    std::chrono::milliseconds farewell{2'000};  ///< for a client that is refused, to end by itself
  };

  /// Answers, since the start.
  struct Counts {
    uint64_t found = 0;    ///< GET, with the value
    uint64_t missing = 0;  ///< GET, 404
    uint64_t puts = 0;     ///< done
    uint64_t removes = 0;  ///< done
    uint64_t refused = 0;  ///< anything else
    uint64_t held = 0;  ///< GETs, of those above and of those whose client went, that have waited
  };

  /// The head of a request that is longer is refused.
  static constexpr size_t kMostHeadBytes = 4096;
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

}  // namespace tony::web
