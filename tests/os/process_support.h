// The common parts of tests with real processes: waiting with a deadline, and talking to a keeper.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "os/containment/keeper.h"
#include "os/files/unique_fd.h"

namespace tony::os {

/// Long enough for a loaded machine; a test that works never waits that long.
inline constexpr int kPatienceMillis = 20'000;

/// Whether the descriptor became readable (or ended) in time.
bool WaitReadable(int fd);

/// Whether the process, anybody's child, ended in time or was not there at all. A zombie has ended.
bool WaitGone(pid_t pid);

/// Whether the process exists and is no zombie.
bool IsAlive(pid_t pid);

/// The state of a process as /proc shows it, e.g. 'T' for stopped; 0 when it is gone.
char StateOf(pid_t pid);
/// Whether it came into that state in time.
bool WaitForState(pid_t pid, char state);

/// The process and all below it, each with what it waits for: of a test that has waited in vain.
std::string DescribeTree(pid_t root);

bool HasPython();

/// A pipe whose reading end gives lines. Not thread safe.
class LinePipe {
 public:
  LinePipe();
  int read_fd() const { return read_end_.get(); }
  int write_fd() const { return write_end_.get(); }
  void CloseWriteEnd() { write_end_.Reset(); }
  /// The next line; nothing at the end or when none comes in time.
  std::optional<std::string> ReadLine();
  /// The next line as a number, 0 when there is none.
  int ReadNumber();

 private:
  UniqueFd read_end_;
  UniqueFd write_end_;
  std::string buffer_;
};

/// A bash script in /, its output into `output`.
SpawnRequest BashRequest(const std::string& script, const LinePipe& output);

/// The next event of a keeper, which must be of type `Event`; a failure of the test and nothing
/// otherwise.
std::optional<KeeperEvent> WaitEvent(Keeper& keeper);
template <typename Event>
std::optional<Event> WaitFor(Keeper& keeper) {
  const std::optional<KeeperEvent> event = WaitEvent(keeper);
  if (!event || !std::holds_alternative<Event>(*event)) return std::nullopt;
  return std::get<Event>(*event);
}

/// Forks a child that runs `function` and ends. Returns its pid.
pid_t ForkChild(const std::function<void()>& function);

/// A process that carries the container's id, `levels` forks below this one; those between end. It
/// lives until `idle` ends, in one program, since during an exec nobody can see a process's
/// environment.
pid_t StartMarked(const std::string& id, int levels, const LinePipe& idle);

}  // namespace tony::os
