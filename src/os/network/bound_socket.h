// A port of this machine that outlives the process that serves it.
#pragma once

#include "absl/status/statusor.h"
#include "os/files/unique_fd.h"

namespace tony::os {

/// Returns a TCP socket that is bound to a free port of 127.0.0.1 and does not listen yet. Whoever
/// holds a copy of the descriptor keeps the port: as long as one is open, no program of any user
/// can listen there, and once a copy has listened, connections wait for the next process that
/// accepts them. Errno codes.
absl::StatusOr<UniqueFd> BindLoopbackSocket();

}  // namespace tony::os
