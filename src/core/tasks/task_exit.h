// The end of a task's user process, and the resources that it used.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
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
  int64_t ended_millis = 0;           ///< milliseconds since 1970 by the host's clock; 0: not known
  std::string model_parameters = {};  ///< those that a preprocessing program printed for the tasks
  std::map<std::string, std::string> reported = {};  ///< the last values that the program reported

  bool operator==(const TaskExit&) const = default;

  /// The exit of a process whose end was not seen. `why`: the reason.
  static TaskExit Lost(std::string why) { return {Cause::kLost, 0, 0, std::move(why), {}}; }

  bool ok() const { return cause == Cause::kExited && code == 0; }
  /// "exited with code 3", "was killed by signal 9 (SIGKILL)", …
  std::string Describe() const;
};

/// The counters of a task's tony.collective ranks since the program's start; sums over its
/// processes.
struct CollectiveUsage {
  int64_t tensors = 0;             ///< tensors whose operation is done
  int64_t bytes = 0;               ///< bytes of those tensors at this task's ranks
  int64_t operations = 0;          ///< operations, each of one tensor or several fused ones
  int64_t by_number = 0;           ///< tensors submitted by a number that rank 0 knows (cache hits)
  int64_t by_request = 0;          ///< tensors submitted with a full description
  double negotiation_seconds = 0;  ///< time in which a tensor waited for other ranks
  double operation_seconds = 0;    ///< time in which data was exchanged
  double waited_for_seconds = 0;   ///< time in which the others waited for this rank only

  bool operator==(const CollectiveUsage&) const = default;
};

/// One sample of the resources used by a task's process tree; sums over the tree.
struct TaskUsage {
  double cpu_seconds = 0;        ///< user + system, since the start of the process
  int64_t memory_bytes = 0;      ///< resident now
  int64_t max_memory_bytes = 0;  ///< highest sample
  int64_t read_bytes = 0;        ///< from storage
  int64_t write_bytes = 0;       ///< to storage
  int processes = 0;
  double gpu_utilization = -1;    ///< percent, mean over the task's GPUs; -1: no GPU
  int64_t gpu_memory_bytes = -1;  ///< sum over the task's GPUs; -1: no GPU
  std::optional<CollectiveUsage> collective = {};  ///< set for a program that uses tony.collective

  bool operator==(const TaskUsage&) const = default;
};

}  // namespace tony::core
