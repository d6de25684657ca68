// The end of a task's user process.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tony::core {

/// The true end of one run of the user's process.
struct TaskExit {
  enum class Cause {
    kExited,       ///< exited by itself, with `code`
    kSignaled,     ///< ended by `signal`, which tony did not send
    kNotStarted,   ///< could not be prepared or spawned; `message` says why
    kTimedOut,     ///< killed by tony after tony.task.executor.execution-timeout-ms
    kOutOfMemory,  ///< ended because it used more than its container has; `message` has the numbers
    kLost,         ///< its container or executor went away, and nobody saw the process end; or
                   ///< there was no room to start it, or it was tony's own driver and was killed
    kStopped,      ///< ended by tony for a reason outside the task; see `code` or `signal`
  };

  Cause cause = Cause::kExited;
  int code = 0;
  int signal = 0;
  std::string message;                ///< one sentence of context; may be empty
  std::vector<std::string> tail;      ///< last lines of the output, oldest first
  int64_t ended_millis = 0;           ///< Unix time of the ApplicationMaster; 0: not known
  std::string model_parameters = {};  ///< those that a preprocessing program printed for the tasks
  std::map<std::string, std::string> reported = {};  ///< the last values that the program reported
  int64_t host_millis = 0;        ///< when it ended by the clock of its host; 0: not known
  int64_t ended_ago_millis = -1;  ///< before its date is known (DateExit); -1: it is dated

  bool operator==(const TaskExit&) const = default;

  /// The exit of a process whose end was not seen. `why`: the reason.
  static TaskExit Lost(std::string why) { return {Cause::kLost, 0, 0, std::move(why), {}}; }

  bool ok() const { return cause == Cause::kExited && code == 0; }
  /// "exited with code 3", "was killed by signal 9 (SIGKILL)", …
  std::string Describe() const;
};

}  // namespace tony::core
