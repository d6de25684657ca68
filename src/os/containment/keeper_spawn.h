// Starts the user's program from the keeper: fork, child set-up, exec.
#pragma once

#include <sys/types.h>

#include <string>

#include "os/containment/containment.h"
#include "os/processes/spawn_payload.h"

namespace tony::os {

/// Either `pid` is valid, or error_number is not zero and `message` says what could not be done.
struct SpawnResult {
  pid_t pid = 0;
  int error_number = 0;
  std::string message;
};

/// The descriptors of the program's standard streams.
struct SpawnStreams {
  int in = -1;  // -1: /dev/null
  int out = -1;
  int err = -1;
  bool terminal = false;  // `in` becomes the controlling terminal of the program's session
};

/// Starts the program in `containment`; returns when its exec has succeeded or failed. The child
/// dies with the calling process (PR_SET_PDEATHSIG). The calling process must have one thread, and
/// its descriptors 0 to 2 must be open.
SpawnResult SpawnProgram(Containment& containment, const SpawnPayload& payload,
                         const SpawnStreams& streams);

}  // namespace tony::os
