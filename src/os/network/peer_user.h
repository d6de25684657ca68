// Finds the user at the other end of a loopback connection.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/peer_filter.h"

namespace tony::os {

/// The user who made the socket at the other end of a connection within 127.0.0.1, from `peer_port`
/// to `local_port`. NotFound – there is no such connection, or its program has closed it.
/// Unavailable – /proc/net cannot be read. Thread safe.
absl::StatusOr<uid_t> LoopbackPeerUser(uint16_t peer_port, uint16_t local_port);

/// Whether the program at the other end of such a connection may be served: it must be run by this
/// process's user, or by root. Every listener of tony on 127.0.0.1 asks this before it reads a
/// byte, since every user of the machine can connect there. PermissionDenied – the program is
/// another user's, named by the message. An error of LoopbackPeerUser() – the user is not known,
/// and the program must not be served either. Thread safe.
absl::Status CheckLoopbackPeer(uint16_t peer_port, uint16_t local_port);

/// CheckLoopbackPeer() in the form that listeners take. For a peer that did not come through
/// 127.0.0.1 it returns NotFound.
PeerCheck LoopbackPeerCheck();

}  // namespace tony::os
