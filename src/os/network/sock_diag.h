// Asks the kernel for single TCP sockets instead of reading its whole table.
//
// /proc/net/tcp also has a line for each connection that has just ended: tens of thousands on a
// machine where many programs make short connections, and reading them takes tens of milliseconds.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"

namespace tony::os {

/// A listening socket.
struct ListeningSocket {
  uint16_t port = 0;
  unsigned long inode = 0;
  uid_t uid = 0;  // creator of the socket
};

/// All listening sockets of this network namespace, IPv4 and IPv6. Nothing: the kernel does not
/// answer sock_diag(7).
std::optional<std::vector<ListeningSocket>> AskForListeningSockets();

/// The user of the socket with `port` in a connection between two ports of 127.0.0.1. NotFound –
/// there is no such connection, or its program has closed the socket. Unavailable – the kernel does
/// not answer.
absl::StatusOr<uid_t> AskForLoopbackUser(uint16_t port, uint16_t peer_port);

/// What one connection has carried since it was made. A plain value.
struct SocketTraffic {
  uint64_t cookie = 0;     ///< unique during a boot, unlike the inode
  int64_t sent_bytes = 0;  ///< handed to the network, each byte once
  int64_t received_bytes = 0;

  bool operator==(const SocketTraffic&) const = default;
};

/// The traffic of those connected TCP sockets of this network namespace, IPv4 and IPv6, whose
/// inodes are in `inodes` (sorted). The kernel walks through all connections of the machine for
/// that, about a microsecond for each. Nothing: the kernel does not answer, or does not count (it
/// does since 4.1).
std::optional<std::vector<SocketTraffic>> AskForTraffic(const std::vector<unsigned long>& inodes);

}  // namespace tony::os
