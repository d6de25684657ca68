// The resources that a task uses and how far its program has come, as its executor measures them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tony::core {

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

/// One GPU of the task, by the driver's library (NVML). -1: the driver does not say.
struct GpuUsage {
  int index = 0;                    ///< on the host, as nvidia-smi counts
  double utilization = -1;          ///< percent of the time in which a kernel ran
  int64_t memory_bytes = -1;        ///< in use, by whomever
  int64_t memory_total_bytes = -1;  ///< there
  double power_watts = -1;
  double temperature = -1;  ///< degrees Celsius
  int64_t slowed = 0;  ///< why its clock is low: bits of nvmlClocksThrottleReasons*; 0: it is not
  int64_t ecc_errors = -1;  ///< uncorrected errors of its memory since the driver was loaded

  bool operator==(const GpuUsage&) const = default;
};

/// What the kernel says of the task's control group; counters since the group was made. -1:
/// unknown.
struct GroupUsage {
  int64_t memory_bytes = -1;       ///< memory.current: with the page cache that it caused
  int64_t max_memory_bytes = -1;   ///< memory.peak
  int64_t periods = -1;            ///< cpu.stat: periods in which it ran under a limit
  int64_t throttled_periods = -1;  ///< those of them in which it was held back
  double throttled_seconds = -1;   ///< how long threads were held back, summed over them
  /// Time in which some thread waited for a processor, for memory, for storage (PSI, "some").
  double cpu_wait_seconds = -1;
  double memory_wait_seconds = -1;
  double io_wait_seconds = -1;

  bool operator==(const GroupUsage&) const = default;
};

/// Bytes over the network; -1: unknown.
struct NetworkUsage {
  int64_t sent_bytes = -1;           ///< over TCP sockets of the task, also those to its own host
  int64_t received_bytes = -1;       ///< likewise
  int64_t host_sent_bytes = -1;      ///< of the whole host, loopback left out
  int64_t host_received_bytes = -1;  ///< likewise

  bool operator==(const NetworkUsage&) const = default;
};

/// A checkpoint that the program says it has written.
struct ProgressCheckpoint {
  std::string path;         ///< as the program has named it
  int64_t millis = 0;       ///< when, Unix time of the ApplicationMaster; 0: not dated yet
  double seconds = -1;      ///< how long writing it took; -1: unknown
  int64_t count = 0;        ///< how many the run has written, this one included
  int64_t ago_millis = -1;  ///< before its date is known (DateProgress); -1: it is dated

  bool operator==(const ProgressCheckpoint&) const = default;
};

/// What the program says of its progress: through TONY_PROGRESS, tony.report(), or its log. See
/// ProgressTracker for how it is counted.
///
/// Hosts' clocks differ, by hours if nobody sets them. So an executor says how long ago something
/// was, by its monotonic clock, and the ApplicationMaster dates it (DateProgress).
struct Progress {
  int64_t step = -1;             ///< the newest; -1: the program has named none
  double steps_per_second = -1;  ///< over the last few steps; -1: too few
  double step_seconds = -1;      ///< median of the last steps' durations; -1: too few
  double long_gap_seconds = -1;  ///< 99th percentile of the last times between reports of a step
  /// When it named the first one, Unix time of the ApplicationMaster; 0: not yet, or not dated.
  int64_t first_step_millis = 0;
  int64_t first_step_ago_millis = -1;    ///< before its date is known; -1: dated, or not yet
  double idle_seconds = -1;              ///< since the newest step was named; -1: none was
  std::string phase;                     ///< such as "checkpoint"; empty: the program trains
  double phase_seconds = -1;             ///< how long it has been in the phase; -1: it is in none
  double longest_phase_seconds = -1;     ///< of the earlier phases of that name; -1: there was none
  std::map<std::string, double> values;  ///< the newest of each name, such as "loss"; at most 16
  std::optional<ProgressCheckpoint> checkpoint;  ///< the newest
  int64_t unread_lines = 0;                      ///< lines that could not be read, or only in part

  bool operator==(const Progress&) const = default;
};

/// One sample of the resources used by a task's process tree; sums over the tree.
struct TaskUsage {
  double seconds = 0;        ///< since the start of the program, by the executor's monotonic clock
  double cpu_seconds = 0;    ///< user + system, since the start of the process
  int64_t memory_bytes = 0;  ///< resident now
  int64_t max_memory_bytes = 0;     ///< highest sample
  int64_t proportional_bytes = -1;  ///< proportional share now (PSS); measured seldom; -1: unknown
  int64_t read_bytes = 0;           ///< from storage
  int64_t write_bytes = 0;          ///< to storage
  int64_t printed_bytes = -1;       ///< into its two logs, after what was taken out; -1: unknown
  int processes = 0;
  int descriptors = -1;           ///< open files, sockets and pipes; -1: unknown
  double gpu_utilization = -1;    ///< percent, mean over the task's GPUs; -1: no GPU
  int64_t gpu_memory_bytes = -1;  ///< sum over the task's GPUs; -1: no GPU
  std::vector<GpuUsage> gpus;     ///< the task's; empty without GPU
  GroupUsage group;
  NetworkUsage network;
  std::optional<Progress> progress;                ///< absent: the program has said nothing
  std::optional<CollectiveUsage> collective = {};  ///< set for a program that uses tony.collective

  bool operator==(const TaskUsage&) const = default;
};

}  // namespace tony::core
