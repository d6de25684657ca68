// The port of a containment: it holds the processes of a container together, so that none escapes.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace tony::os {

/// Memory use of a container's processes together, where the kernel counts it. A plain value.
struct ContainedMemory {
  int64_t peak_bytes = 0;  ///< peak in bytes since BeginCounting(); 0: not counted
  int kills = 0;           ///< processes killed since then because memory ran out
};

/// One way of containment. The owner calls Prepare() and CleanUp(); the keeper and the processes
/// that it forks call the rest. Not thread safe: each of them has one thread then.
class Containment {
 public:
  virtual ~Containment() = default;

  /// The name in the configuration: "cgroup", "namespace" or "process-tree".
  virtual const std::string& name() const = 0;

  /// The first call, in the owner, before the keeper is forked. Unavailable – this way does not
  /// work on this machine, for the reason in the message.
  virtual absl::Status Prepare() { return absl::OkStatus(); }

  /// Called once, in the keeper, before anything is spawned. `owner`: the process that forked the
  /// keeper. Unavailable – this way does not work, for the reason in the message; the process can
  /// then only exit.
  virtual absl::Status Enter(pid_t owner) = 0;

  /// Called after Enter(): slow set-up whose failure does not matter. Nobody waits for it.
  virtual void Settle() {}

  /// Called before the program's Fork(): what is counted is counted anew from here on.
  virtual void BeginCounting() {}

  /// Works like fork(). The new process is contained at once, or after its Join().
  virtual pid_t Fork() { return ::fork(); }

  /// Called in the new process, before its exec. Returns 0, or the errno value.
  virtual int Join() { return 0; }

  /// `program` was started and is now in the container, which was empty before.
  virtual void Started(pid_t /*program*/) {}

  /// Sends the signal `number` to every process that is in the container now. Returns the processes
  /// that it reached. A process that forks meanwhile may be missed: repeat until Empty().
  virtual std::vector<pid_t> Signal(int number) = 0;

  /// True when it is certain that no process is left. Asked after the program's end; the keeper
  /// must have reaped its ended children first.
  virtual bool Empty() = 0;

  /// Called when the keeper ends: removes what this way has created on the machine. Anything that
  /// is hard to remove from inside is left to the owner, if the owner still lives.
  virtual void Leave(bool /*owner_lives*/) {}

  /// Called in the owner, after the keeper's end: removes what the keeper has left.
  virtual void CleanUp() {}

  /// Whether the kernel enforces the container's memory limit. Valid from Prepare() on.
  virtual bool limits_memory() const { return false; }

  virtual ContainedMemory Memory() { return {}; }

  /// A process of the keeper that belongs to this way and not to the program; 0: none.
  virtual pid_t helper() const { return 0; }
};

}  // namespace tony::os
