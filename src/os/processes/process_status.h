// Tells what a process and its threads are doing, from /proc.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tony::os {

/// A set of signals, as /proc writes it.
class SignalSet {
 public:
  SignalSet() = default;
  explicit SignalSet(uint64_t bits) : bits_(bits) {}
  bool Has(int number) const { return (bits_ >> (number - 1) & 1) != 0; }

 private:
  uint64_t bits_ = 0;
};

/// What /proc/PID/status, or /proc/PID/task/TID/status, says. A plain value.
struct ProcessStatus {
  pid_t pid = 0;        ///< of the process or thread, as this process sees it
  pid_t inner_pid = 0;  ///< as it sees itself in the innermost process namespace
  pid_t parent = 0;
  std::string name;
  char state = '?';  ///< 'R', 'S', 'D', 'T' (stopped), 't' (traced), 'Z' (ended) …
  SignalSet caught;
  SignalSet blocked;         ///< by this thread
  SignalSet pending;         ///< for the whole process, and not delivered yet
  SignalSet thread_pending;  ///< for this thread
};

/// Nothing if there is no such process (any more).
std::optional<ProcessStatus> ReadProcessStatus(pid_t pid);

/// The threads of a process, at most `most` of them, the main thread first. Empty if there is no
/// such process. `pid` of each is the thread's number.
std::vector<ProcessStatus> ReadThreads(pid_t pid, size_t most);

/// Where a thread waits in the kernel.
struct KernelPlace {
  std::string function;     ///< "futex_do_wait"; empty: it runs, or the kernel does not tell
  std::string system_call;  ///< "futex", or "system call 437"; empty: none, or not known
};
KernelPlace ReadKernelPlace(pid_t pid, pid_t thread);

}  // namespace tony::os
