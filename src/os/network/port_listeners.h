// Finds the processes that listen on TCP ports of this host.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tony::os {

/// One listening socket and one process that has it open.
struct PortListener {
  uint16_t port = 0;
  pid_t pid = 0;  // 0: the owner's descriptors cannot be seen: another user's, or it is ending
  std::string command;  // the process's short name; empty if pid is 0
  uid_t uid = 0;        // creator of the socket
};

/// Listeners on any address, IPv4 and IPv6, sorted by port and pid. Sockets that are bound without
/// listening, such as held ports, do not count. Reads /proc/*/fd only if one of the ports has a
/// listener. Unavailable – the kernel does not answer and /proc/net cannot be read.
absl::StatusOr<std::vector<PortListener>> FindListeners(const std::vector<uint16_t>& ports);

/// Whether one of `processes` listens on `port`, on any address. Reads /proc/PID/fd of these
/// processes only, and only if anybody listens. Unavailable – as above.
absl::StatusOr<bool> AnyListens(uint16_t port, const std::vector<pid_t>& processes);

/// Whether a socket of `user` listens on `port`, on any address. Reads no /proc/PID/fd, so it is
/// cheap enough for every heartbeat. Unavailable – as above.
absl::StatusOr<bool> UserListens(uint16_t port, uid_t user);

}  // namespace tony::os
