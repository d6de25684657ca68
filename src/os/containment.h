// What holds the processes of a container together, so that none can get away.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace tony::os {

/// One way of containment. Built by the owner, before the fork; everything but name() is called in
/// the keeper. Not thread safe: the keeper has one thread.
class Containment {
 public:
  virtual ~Containment() = default;

  /// For people: "process tree".
  virtual const std::string& name() const = 0;

  /// Called once in the keeper before anything is spawned; `owner` is the process that it was
  /// forked from.
  virtual void Enter(pid_t owner) = 0;

  /// `program` was started and is now in it. It is empty before.
  virtual void Started(pid_t program) = 0;

  /// Sends `number` to every process that is in it now. Returns those that it reached. A process
  /// that forks meanwhile may be missed: repeat until Empty().
  virtual std::vector<pid_t> Signal(int number) = 0;

  /// True when it is certain that no process is left. Ended children have to be reaped by the
  /// keeper first.
  virtual bool Empty() = 0;
};

}  // namespace tony::os
