// The keeper seen from inside: the loop of the forked process.
#pragma once

#include <sys/types.h>

#include "os/containment/containment.h"

namespace tony::os {

/// Becomes the keeper of `owner`, with `socket` as the one descriptor that it keeps. Never returns:
/// ends when it cannot enter `containment`, which it reports, or when the owner is gone and so is
/// everything that was started. The calling process must have
/// one thread, so that memory may be allocated after the fork.
///
///          Spawn, exec ok         program exits              Containment::Empty()
///   idle ─────────────────▶ running ─────────▶ leftovers ─────────────────────────▶ idle
///                              │ Kill: TERM        │ TERM unless Kill sent it
///                              │ after grace: KILL │ after grace: KILL             (reports:
///                              Started, Exited, TreeGone)
///
/// The owner's end of the socket closes: KILL in either state, and _exit() when empty.
[[noreturn]] void RunKeeper(int socket, pid_t owner, Containment& containment);

}  // namespace tony::os
