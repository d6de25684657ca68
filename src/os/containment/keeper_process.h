// The keeper from inside: the main loop of the forked process.
#pragma once

#include <sys/types.h>

#include "os/containment/containment.h"

namespace tony::os {

/// Turns the calling process into the keeper of `owner`; `socket` is the only descriptor that it
/// keeps. Never returns. The keeper exits when it cannot enter `containment`, which it reports, or
/// when the owner is gone and so is everything that was started. The calling process must have one
/// thread, so that memory may be allocated after the fork.
///
///          Spawn, exec ok         program exits              Containment::Empty()
///   idle ─────────────────▶ running ─────────▶ leftovers ─────────────────────────▶ idle
///                              │ Kill: TERM        │ TERM unless Kill sent it
///                              │ after grace: KILL │ after grace: KILL
///
/// The transitions report Started, Exited and TreeGone. When the owner's end of the socket closes,
/// the keeper sends KILL in either state, and calls _exit() once the container is empty.
[[noreturn]] void RunKeeper(int socket, pid_t owner, Containment& containment);

}  // namespace tony::os
