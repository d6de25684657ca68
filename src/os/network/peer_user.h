// Whose connection of this machine's loopback it is.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/peer_filter.h"

namespace tony::os {

/// The user who made the socket at the other end of a connection within 127.0.0.1, from
/// `peer_port` to `local_port`. NotFound – there is no such connection, or its program has
/// closed it. Unavailable – /proc/net cannot be read. Thread safe.
absl::StatusOr<uid_t> LoopbackPeerUser(uint16_t peer_port, uint16_t local_port);

/// Whether the program at the other end of such a connection may be served: it is run by this
/// process's user, or by root. Every listener of ours on 127.0.0.1 asks this before it reads a
/// byte, since every user of the machine can connect there. PermissionDenied – it is another
/// user's, who is named; an error of LoopbackPeerUser() – nobody knows, and it is not to be served
/// either. Thread safe.
absl::Status CheckLoopbackPeer(uint16_t peer_port, uint16_t local_port);

/// CheckLoopbackPeer() as listeners take it. A peer that did not come by 127.0.0.1 is NotFound.
PeerCheck LoopbackPeerCheck();

}  // namespace tony::os
