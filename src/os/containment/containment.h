// What holds the processes of a container together, so that none can get away.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace tony::os {

/// What a container's processes used of its memory, where the kernel counts it for them together.
/// A plain value.
struct ContainedMemory {
  int64_t peak_bytes = 0;  ///< the most since the last Fork(); 0: not counted
  int kills = 0;           ///< processes that the kernel ended since then because memory ran out
};

/// One way of containment. Prepare() is called in the owner, all else in the keeper and the
/// processes that it forks. Not thread safe: each of them has one thread then.
class Containment {
 public:
  virtual ~Containment() = default;

  /// As the configuration names it: "cgroup", "namespace" or "process-tree".
  virtual const std::string& name() const = 0;

  /// First, before the keeper is forked. Unavailable – this way does not work here, for a reason
  /// that the message names.
  virtual absl::Status Prepare() { return absl::OkStatus(); }

  /// Once, in the keeper, before anything is spawned; `owner` is the process that it was forked
  /// from. Unavailable – as for Prepare(); the process can then only end.
  virtual absl::Status Enter(pid_t owner) = 0;

  /// After Enter(), what takes long and cannot fail in a way that matters: nobody waits for it.
  virtual void Settle() {}

  /// As fork(): the new process is contained, or becomes so by Join().
  virtual pid_t Fork() { return ::fork(); }

  /// In the new process, before its exec. Returns 0, or the error's number.
  virtual int Join() { return 0; }

  /// `program` was started and is now in it. It is empty before.
  virtual void Started(pid_t /*program*/) {}

  /// Sends `number` to every process that is in it now. Returns those that it reached. A process
  /// that forks meanwhile may be missed: repeat until Empty().
  virtual std::vector<pid_t> Signal(int number) = 0;

  /// True when it is certain that no process is left. Asked after the program's end; ended children
  /// have to be reaped by the keeper first.
  virtual bool Empty() = 0;

  /// The keeper ends: removes what this way has put on the machine. What is hard to remove from
  /// inside is left to the owner where that still lives.
  virtual void Leave(bool /*owner_lives*/) {}

  /// In the owner, after the keeper's end: removes what that one has left.
  virtual void CleanUp() {}

  /// Whether the kernel holds the container to its limit of memory. From Prepare() on.
  virtual bool limits_memory() const { return false; }

  virtual ContainedMemory Memory() { return {}; }

  /// A process of the keeper's that belongs to this way and not to the program; 0: none.
  virtual pid_t helper() const { return 0; }
};

}  // namespace tony::os
