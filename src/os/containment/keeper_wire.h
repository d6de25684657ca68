// The messages between a keeper and its owner, sent through message_socket.h.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>

#include "common/clock.h"
#include "os/containment/containment.h"
#include "os/processes/exit_status.h"

namespace tony::os {

// Both ends are forks of one program, so the bytes of a value mean the same on both sides.

/// Message from the owner to the keeper. kSpawn carries three descriptors: a memory file with the
/// packed SpawnPayload, which may be larger than a socket's buffer, then standard output and
/// standard error. kExec carries the same with standard input before them.
struct KeeperCommand {
  enum class Kind : int32_t { kSpawn, kExec, kSignalExec, kEndExec, kKill, kLease };
  Kind kind = Kind::kKill;
  int exec = 0;           // kExec, kSignalExec, kEndExec: number of the command
  int signal = 0;         // kSignalExec
  bool terminal = false;  // kExec: standard input becomes the controlling terminal
  Duration grace{0};      // kSpawn: grace for leftovers; kEndExec: grace for the command; kKill:
                          // grace for the whole tree
  TimePoint lease_end;    // kLease
};

/// Message from the keeper to the owner. The valid fields depend on the kind, as in the KeeperEvent
/// of the same name. The first message is one kEntered: the keeper is in the containment, whose
/// helper is `pid`; or error_number is not zero, the message says why not, and the keeper ends.
struct KeeperReport {
  enum class Kind : int32_t {
    kEntered,
    kStarted,
    kSpawnFailed,
    kExited,
    kTreeGone,
    kExecStarted,
    kExecFailed,
    kExecExited
  };
  Kind kind = Kind::kTreeGone;
  int exec = 0;
  pid_t pid = 0;
  int error_number = 0;
  int leftovers = 0;
  bool with_tree = false;
  ExitStatus status;
  Duration user_time{0};
  Duration system_time{0};
  int64_t max_rss_bytes = 0;
  ContainedMemory memory;
  std::array<char, 512> message{};  // ends with NUL
};

}  // namespace tony::os
