// Whose connection of this machine's loopback it is.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "absl/status/statusor.h"

namespace tony::os {

/// The user who made the socket at the other end of a connection within 127.0.0.1, from
/// `peer_port` to `local_port`. NotFound – there is no such connection, or its program has
/// closed it. Unavailable – /proc/net cannot be read. Thread safe.
absl::StatusOr<uid_t> LoopbackPeerUser(uint16_t peer_port, uint16_t local_port);

}  // namespace tony::os
