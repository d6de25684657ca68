// What the kernel says of TCP sockets when it is asked for them, instead of for its whole table.
//
// /proc/net/tcp has a line for each connection that has just ended, too: tens of thousands where
// many programs ask short questions, and tens of milliseconds for a look at them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"

namespace tony::os {

/// A socket that listens.
struct ListeningSocket {
  uint16_t port = 0;
  unsigned long inode = 0;
  uid_t uid = 0;  // of its creator
};

/// All of this network namespace, IPv4 and IPv6. Nothing: the kernel does not answer sock_diag(7).
std::optional<std::vector<ListeningSocket>> AskForListeningSockets();

/// The user of the one with `port` of a connection between two ports of 127.0.0.1. NotFound – there
/// is none, or its program has closed it; Unavailable – the kernel does not answer.
absl::StatusOr<uid_t> AskForLoopbackUser(uint16_t port, uint16_t peer_port);

}  // namespace tony::os
