// A TCP port that nobody else on this host is given while it is held.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "os/files/unique_fd.h"

namespace tony::os {

/// Holds one port as a bound socket that never listens, on [::] (on 0.0.0.0 where there is no
/// IPv6), with SO_REUSEADDR and SO_REUSEPORT. Not thread safe.
///
/// How it works, all of it Linux:
///  1. Between executors an abstract Unix socket "\0tony-port-N" excludes. It needs no file, works
///     across users, and dies with its owner. It stays after ReleaseSocket(), when the port itself
///     is free for a moment: nothing else keeps another executor from it then. Any user can take
///     all such names, so one decides only where the kernel says that its holder is of this user.
///     Ports with names of others are a second choice, for which steps 2 and 3 alone decide: what
///     another user's executor holds is refused there, and what it has released may be taken.
///  2. The holding socket is bound *without* either option. Then the kernel refuses the port when
///     anybody, of any user, has it in any state on any address: listening, bound only, connected,
///     or in TIME_WAIT. So what is handed out is truly unused, and a server without any option
///     could bind it after ReleaseSocket(). [::] covers the IPv4 addresses too, as IPV6_V6ONLY is
///     off.
///  3. Only then both options are set on that same bound socket. The kernel judges a later bind by
///     the options that the sockets have at that moment, so from here on a server with either
///     option (SO_REUSEPORT: of the same user) may bind and listen. There is no gap between testing
///     and taking, which a probe that is closed again would have.
///  4. Whoever asks for any free port (bind to 0, connect without bind) is never given one that is
///     bound, whatever its options. Besides, ports come from outside `ip_local_port_range` while
///     there are any.
/// A stranger who binds this very port with SO_REUSEADDR can take it: see FindListeners().
class PortReservation {
 public:
  /// Takes a port that nobody uses, starting the search at a random place: above 10000 and outside
  /// `ip_local_port_range` first (well-known services live below), then above 1024 outside of it,
  /// then inside; never one of `ip_local_reserved_ports`. ResourceExhausted – every port is in use,
  /// or no descriptor is left. Unavailable – no TCP sockets here.
  static absl::StatusOr<PortReservation> Reserve();

  PortReservation(PortReservation&&) noexcept = default;
  PortReservation& operator=(PortReservation&&) noexcept = default;

  uint16_t port() const { return port_; }
  /// Whether the socket is still held.
  bool holds_socket() const { return socket_.valid(); }
  /// Frees the port for a server that sets neither option, right before it starts. Other executors
  /// still keep off.
  void ReleaseSocket() { socket_.Reset(); }

 private:
  PortReservation(uint16_t port, UniqueFd exclusion, UniqueFd socket)
      : port_(port), exclusion_(std::move(exclusion)), socket_(std::move(socket)) {}

  uint16_t port_;
  UniqueFd exclusion_;
  UniqueFd socket_;
};

}  // namespace tony::os
