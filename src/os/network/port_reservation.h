// Reserves a TCP port: while it is held, the kernel gives it to nobody else on this host who asks
// for any free port.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "os/files/unique_fd.h"

namespace tony::os {

/// Holds one port as a bound socket that never listens, on [::] (on 0.0.0.0 if there is no IPv6),
/// with SO_REUSEADDR and SO_REUSEPORT. Not thread safe.
///
/// The mechanism, all of it specific to Linux:
/// 1. Executors exclude each other by an abstract Unix socket "\0tony-port-N". It needs no file,
///    works across users, and dies with its owner. It stays after ReleaseSocket(), when the port
///    itself is free for a moment and nothing else keeps another executor from it. Any user can
///    take all such names, so a name decides only if the kernel says that its holder belongs to
///    this user. Ports whose names others hold are a second choice, for which steps 2 and 3 alone
///    decide: a port that another user's executor holds is refused there, and a port that it has
///    released may be taken.
/// 2. The holding socket is bound *without* either option. Then the kernel refuses the port if any
///    socket of any user has it in any state on any address: listening, only bound, connected, or
///    in TIME_WAIT. So a reserved port is truly unused, and a server without any option could bind
///    it after ReleaseSocket(). [::] covers the IPv4 addresses too, as IPV6_V6ONLY is off.
/// 3. Only then both options are set on that same bound socket. The kernel judges a later bind by
///    the options that the sockets have at that moment, so from here on a server with either option
///    (SO_REUSEPORT: of the same user) may bind and listen. A probe socket that is closed again
///    would leave a gap between testing and taking; here there is none.
/// 4. A program that asks for any free port (bind to 0, connect without bind) is never given a
///    bound one, whatever its options. Besides, reserved ports come from outside
///    `ip_local_port_range` while there are any.
/// A stranger who binds this very port with SO_REUSEADDR can take it: see FindListeners().
class PortReservation {
 public:
  /// Takes a port that nobody uses. The search starts at a random place: first above 10000 and
  /// outside `ip_local_port_range` (well-known services live below), then above 1024 outside that
  /// range, then inside it; never one of `ip_local_reserved_ports`. ResourceExhausted – every port
  /// is in use, or no descriptor is left. Unavailable – this host has no TCP sockets.
  static absl::StatusOr<PortReservation> Reserve();

  PortReservation(PortReservation&&) noexcept = default;
  PortReservation& operator=(PortReservation&&) noexcept = default;

  uint16_t port() const { return port_; }
  /// Whether the socket is still held.
  bool holds_socket() const { return socket_.valid(); }
  /// Frees the port for a server that sets neither option; call it right before that server starts.
  /// Other executors still keep off the port.
  void ReleaseSocket() { socket_.Reset(); }

 private:
  PortReservation(uint16_t port, UniqueFd exclusion, UniqueFd socket)
      : port_(port), exclusion_(std::move(exclusion)), socket_(std::move(socket)) {}

  uint16_t port_;
  UniqueFd exclusion_;
  UniqueFd socket_;
};

}  // namespace tony::os
