// Who listens on a TCP port of this host.
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
  pid_t pid = 0;  // 0 when the owner's descriptors are hidden from us (another user's process)
  std::string command;  // the process's short name; empty with pid 0
  uid_t uid = 0;        // of the socket's creator
};

/// Listeners on any address, IPv4 and IPv6, sorted by port and pid. Sockets that are bound without
/// listening, as held ports are, do not count. Looks through /proc/*/fd only when somebody listens.
/// Unavailable – neither the kernel answers nor can /proc/net be read.
absl::StatusOr<std::vector<PortListener>> FindListeners(const std::vector<uint16_t>& ports);

}  // namespace tony::os
