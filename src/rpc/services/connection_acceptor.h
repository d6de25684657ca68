// Accepts connections for a gRPC server, in place of gRPC's own listener.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/logging.h"
#include "common/peer_filter.h"
#include "os/files/unique_fd.h"

namespace tony::rpc {

/// Which peers may connect at all. What a peer may do then depends on its certificate.
enum class Peers {
  kOwnUser,  ///< programs of this process's user or root on this machine; for 127.0.0.1 only
  kAnyHost,  ///< every peer that reaches the port
};

/// An acceptor: listens, and hands each connection over to a gRPC server.
///
/// gRPC 1.51's own listener stops for good after one EMFILE, does not check who connects, and keeps
/// as many connections without a certificate as there are descriptors. This acceptor does the
/// following:
///
/// 1. It closes a connection of another user of the machine (Peers::kOwnUser) before gRPC sees
///    it.
/// 2. It keeps at most `handshakes` connections with gRPC that have not made a call yet; a call
///    takes a certificate of the job. Further connections wait in the kernel's queue. The oldest
///    handshake is evicted once it is older than `grace`: an honest handshake takes milliseconds.
///    gRPC itself drops handshakes that take longer than MasterServer's handshake limit.
/// 3. On a shortage of descriptors or memory it waits for `pause` and writes a line to the log.
///
/// It accepts on a thread of its own, so that neither a busy event loop nor a busy gRPC keeps
/// callers waiting. Thread safe.
class ConnectionAcceptor {
 public:
  struct Limits {
    size_t handshakes = 1024;
    std::chrono::milliseconds grace{2'000};
    std::chrono::milliseconds pause{100};
  };
  struct Counts {
    uint64_t accepted = 0;  ///< handed over to gRPC
    uint64_t refused = 0;   ///< closed because they are another user's, or are gone already
    uint64_t evicted = 0;   ///< handshakes ended to make room
    uint64_t pauses = 0;    ///< pauses for want of descriptors or memory
  };
  /// Takes ownership of `fd`; `listener_fd` is the socket that accepted it. Called on the
  /// acceptor's thread.
  using OnConnection = std::function<void(int listener_fd, int fd)>;

  /// Listens on one free port of all addresses of `host`, a numeric address or a name. Unavailable
  /// – there is no such host, or its addresses cannot be listened on.
  static absl::StatusOr<std::unique_ptr<ConnectionAcceptor>> Listen(const std::string& host,
                                                                    Peers peers, Limits limits);
  /// Stops the acceptor.
  ~ConnectionAcceptor();
  ConnectionAcceptor(const ConnectionAcceptor&) = delete;
  ConnectionAcceptor& operator=(const ConnectionAcceptor&) = delete;

  int port() const { return port_; }
  /// One of the addresses that it listens on, in numeric form.
  const std::string& number() const { return number_; }

  /// Hands connections over from now on, until Stop(). Call it once. ResourceExhausted – no thread
  /// can be started.
  absl::Status Start(OnConnection on_connection);
  /// Stops accepting; `on_connection` is not called any more. Idempotent.
  void Stop();

  /// Tells that `peer`, in gRPC's notation ("ipv4:127.0.0.1:4711"), has made a call and so has a
  /// certificate.
  void OnCall(std::string_view peer);

  Counts counts() const;

 private:
  /// A connection that gRPC has and that has not made a call yet. The descriptor is gRPC's, which
  /// may have closed it in the meantime: the inode tells whether it still is the same socket.
  struct Handshake {
    int fd = -1;
    uint64_t inode = 0;
    int peer_port = 0;
    std::chrono::steady_clock::time_point since;
  };

  ConnectionAcceptor(Peers peers, Limits limits, os::UniqueFd wake, os::UniqueFd spare);

  absl::Status ListenOn(const std::string& host);
  void Run();
  /// Waits for a connection or for Stop(), at most `limit_ms` (-1: no limit). Without `accepting`
  /// it waits for Stop() only.
  void Wait(int limit_ms, bool accepting);
  /// Accepts connections until none waits or there is no room. False: there is a shortage, so a
  /// pause is due.
  bool AcceptAll(int listener);
  /// Counts a pause and logs it. Always returns false.
  bool Shortage(int error);
  void Admit(int listener, os::UniqueFd connection, int peer_port);
  /// Whether one more connection may be handed over; evicts the oldest handshake if it is overdue.
  bool HasRoom();
  void Evict(const Handshake& oldest);

  const Limits limits_;
  const os::UniqueFd wake_;  ///< an eventfd that Stop() writes to
  /// A reserved descriptor number for Evict(), so that no shortage can block it.
  const os::UniqueFd spare_;
  std::optional<PeerFilter> filter_;  ///< nullopt: every peer is admitted; used by the thread only
  os::UniqueFd reserve_;              ///< a descriptor released for the check of the peer's user
  std::vector<os::UniqueFd> listeners_;
  int port_ = 0;
  std::string number_;
  OnConnection on_connection_;
  std::thread thread_;
  bool stopped_ = false;  ///< used by the thread only
  LogLimit crowd_log_;
  LogLimit gone_log_;

  mutable std::mutex mutex_;         ///< guards the members below
  std::list<Handshake> handshakes_;  ///< oldest first
  Counts counts_;
};

}  // namespace tony::rpc
