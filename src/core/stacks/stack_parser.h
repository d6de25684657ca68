// Parses the texts in which stacks arrive: those of Python's faulthandler, of py-spy, of eu-stack,
// and an executor's own of /proc.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/stacks/stack_report.h"

namespace tony::core {

/// One thread of a text. At most one thread of a text is `main`.
struct ParsedThread {
  std::string name;
  bool main = false;
  Stack stack;

  bool operator==(const ParsedThread&) const = default;
};

/// Limits on what a text may hold; the rest of it is left out.
inline constexpr size_t kMostThreads = 512;
inline constexpr size_t kMostFrames = 256;
/// Longest name of a file, a function or a thread; a longer one keeps its end, or its beginning.
inline constexpr size_t kMostNameBytes = 512;

/// The threads in `text`, in its order. The program may have written anything there: a line that is
/// not understood is skipped. `way`: as in ProcessStacks; no threads for an unknown one.
std::vector<ParsedThread> ParseStacks(const std::string& way, absl::string_view text);

/// The line for one thread of a text of way "proc".
struct KernelWait {
  int64_t thread = 0;
  std::string name;         ///< as in /proc/PID/task/TID/comm
  std::string state;        ///< "sleeping"
  std::string place;        ///< function of the kernel; empty: not known
  std::string system_call;  ///< empty: none, or not known
};
std::string KernelWaitLine(const KernelWait& wait);

}  // namespace tony::core
