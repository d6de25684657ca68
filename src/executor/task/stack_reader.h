// Reads the stacks of processes: those of Python by a signal, of others by what is there to do it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "core/stacks/stack_report.h"

namespace tony::executor {

/// The real-time signal on which Python's faulthandler writes all stacks into the process's file,
/// once python/tony/_stacks/sitecustomize.py has asked for that.
inline constexpr int kStacksSignal = 40;

/// What ReadStacks() needs to know.
struct StackReading {
  std::vector<pid_t> processes;     ///< a parent before its children
  std::string folder;               ///< TONY_STACKS_DIR of the processes; empty: they have none
  std::vector<std::string> tools;   ///< folders where py-spy and eu-stack are looked for
  Duration limit{0};                ///< for the whole reading
  size_t limit_bytes = 256 * 1024;  ///< of all texts together
};

/// The stacks of the processes. Blocks, for about as long as `limit` if one does not answer.
/// 1. A process with a handler of kStacksSignal that still writes into its file in `folder` is sent
///    the signal, and no other: the signal would kill it. Only what it writes from now on counts.
/// 2. The text is complete when no thread is in the handler any more. The kernel blocks the signal
///    in that thread for so long.
/// 3. Of a process without a handler, of one that is stopped, and of one that does not answer in
///    time, `py-spy dump --nonblocking` (if it is Python) or `eu-stack` tells, if installed and
///    allowed; otherwise /proc, which says where each thread waits in the kernel.
/// The processes own the folder and may have written anything into it, or put links and pipes
/// there: only plain files are read, and no more than fits in.
std::vector<core::ProcessDump> ReadStacks(const StackReading& reading);

/// Removes the files of processes that are not among `processes` from the folder of StackReading,
/// if there are many; those that were among `orphans` before. Returns the names of the others,
/// which the next call takes: a process may have just begun when `processes` was read.
std::vector<std::string> SweepStacks(const std::string& folder,
                                     const std::function<std::vector<pid_t>()>& processes,
                                     const std::vector<std::string>& orphans);

/// Shortens texts, the longest ones first, to `limit` bytes together. A shortened one ends with a
/// whole line, and its process's trouble says so.
void FitTexts(std::vector<core::ProcessDump>& dumps, size_t limit);

}  // namespace tony::executor
