// What a keeper and its owner tell each other, as messages of a message_socket.h.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>

#include "common/clock.h"
#include "os/containment/containment.h"
#include "os/processes/exit_status.h"

namespace tony::os {

// Both ends are forks of one program, so that a value's bytes mean the same on both sides.

/// Owner to keeper. kSpawn carries three descriptors: the packed SpawnPayload as a memory file,
/// which may be larger than a socket's buffer, then standard output and standard error.
struct KeeperCommand {
  enum class Kind : int32_t { kSpawn, kKill, kLease };
  Kind kind = Kind::kKill;
  Duration grace{0};    // kSpawn: for leftovers; kKill: for the tree
  TimePoint lease_end;  // kLease
};

/// Keeper to owner. Which fields count depends on the kind, as in the KeeperEvent of the same name.
/// First of all comes one kEntered: in the containment, whose helper is `pid`; or error_number is
/// not zero, the message says why not, and the keeper ends.
struct KeeperReport {
  enum class Kind : int32_t { kEntered, kStarted, kSpawnFailed, kExited, kTreeGone };
  Kind kind = Kind::kTreeGone;
  pid_t pid = 0;
  int error_number = 0;
  int leftovers = 0;
  ExitStatus status;
  Duration user_time{0};
  Duration system_time{0};
  int64_t max_rss_bytes = 0;
  ContainedMemory memory;
  std::array<char, 512> message{};  // ends with NUL
};

}  // namespace tony::os
