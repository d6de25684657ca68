// Takes in connections for a gRPC server, in place of gRPC's own listener.
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
#include "common/peer_filter.h"
#include "os/files/unique_fd.h"

namespace tony::rpc {

/// Whose connections are taken in at all; what they may do then is what their certificate says.
enum class Peers {
  kOwnUser,  ///< of programs of this process's user or root, on this machine: its 127.0.0.1 only
  kAnyHost,  ///< of everybody who reaches the port
};

/// Listens, and hands each connection over to a gRPC server.
///
/// gRPC 1.51's own listener stops for good after one EMFILE, asks nobody who comes, and keeps as
/// many connections without a certificate as there are descriptors. Here:
///
/// 1. A connection of another user of the machine (Peers::kOwnUser) is closed before gRPC sees it.
/// 2. At most `handshakes` connections that have not yet made a call, which takes a certificate of
///    the job, are with gRPC at a time; more wait in the kernel's queue. The oldest of them makes
///    room once it is older than `grace`: an honest handshake takes milliseconds. gRPC itself gives
///    up those that take longer than MasterServer's handshake limit.
/// 3. A shortage of descriptors or memory is a pause of `pause`, and a line in the log.
///
/// A thread of its own accepts, so that neither a busy event loop nor a busy gRPC keeps callers
/// waiting. Thread safe.
class ConnectionAcceptor {
 public:
  struct Limits {
    size_t handshakes = 1024;
    std::chrono::milliseconds grace{2'000};
    std::chrono::milliseconds pause{100};
  };
  struct Counts {
    uint64_t accepted = 0;  ///< handed over
    uint64_t refused = 0;   ///< of other users, or gone already
    uint64_t evicted = 0;   ///< to make room
    uint64_t pauses = 0;    ///< for want of descriptors or memory
  };
  /// Owns `fd` from here on; `listener_fd` is where it came from. Called from the acceptor's
  /// thread.
  using OnConnection = std::function<void(int listener_fd, int fd)>;

  /// Listens on one free port of all addresses that `host`, a number or a name, has.
  /// Unavailable – there is no such host, or it cannot be listened on.
  static absl::StatusOr<std::unique_ptr<ConnectionAcceptor>> Listen(const std::string& host,
                                                                    Peers peers, Limits limits);
  /// Stops.
  ~ConnectionAcceptor();
  ConnectionAcceptor(const ConnectionAcceptor&) = delete;
  ConnectionAcceptor& operator=(const ConnectionAcceptor&) = delete;

  int port() const { return port_; }
  /// An address that it listens on, as a number.
  const std::string& number() const { return number_; }

  /// Connections are handed over from here on, until Stop(). Once.
  /// ResourceExhausted – no thread can be started.
  absl::Status Start(OnConnection on_connection);
  /// No call of `on_connection` follows. Idempotent.
  void Stop();

  /// The peer, as gRPC writes it ("ipv4:127.0.0.1:4711"), has made a call, so it has a certificate.
  void OnCall(std::string_view peer);

  Counts counts() const;

 private:
  /// A connection that is with gRPC and has made no call yet. Its descriptor is gRPC's, which may
  /// have closed it meanwhile: the socket's inode tells whether it still is the same.
  struct Handshake {
    int fd = -1;
    uint64_t inode = 0;
    int peer_port = 0;
    std::chrono::steady_clock::time_point since;
  };

  ConnectionAcceptor(Peers peers, Limits limits, os::UniqueFd wake, os::UniqueFd spare);

  absl::Status ListenOn(const std::string& host);
  void Run();
  /// Waits for a connection or Stop(), at most `limit_ms` (-1: for ever). Without `accepting` only
  /// for Stop().
  void Wait(int limit_ms, bool accepting);
  /// False: there is a shortage, and a pause is due.
  bool AcceptAll(int listener);
  /// Counts and logs it. Always false.
  bool Shortage(int error);
  void Admit(int listener, os::UniqueFd connection, int peer_port);
  /// Whether one more may be handed over.
  bool HasRoom();
  void Evict(const Handshake& oldest);

  const Limits limits_;
  const os::UniqueFd wake_;           ///< an eventfd: Stop() was called
  const os::UniqueFd spare_;          ///< a number for Evict(), which no shortage can take away
  std::optional<PeerFilter> filter_;  ///< nothing: everybody is taken in; the thread's own
  os::UniqueFd reserve_;              ///< given up for the question whose a connection is
  std::vector<os::UniqueFd> listeners_;
  int port_ = 0;
  std::string number_;
  OnConnection on_connection_;
  std::thread thread_;
  bool stopped_ = false;  ///< the thread's own

  mutable std::mutex mutex_;         ///< guards what follows
  std::list<Handshake> handshakes_;  ///< the oldest first
  Counts counts_;
};

}  // namespace tony::rpc
