// Finds the first error in the lines of a program's output.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "logs/log_reader.h"

namespace tony::logs {

/// An error as a program has printed it.
struct PrintedError {
  int64_t line_number = 0;          ///< of its first line in the log, from 1
  int64_t unix_millis = 0;          ///< of that line; 0: not known
  std::vector<std::string> before;  ///< the lines before it, at most ErrorFinder::kLinesBefore
  std::vector<std::string> lines;   ///< all of it
};

/// What a line of output means.
enum class ErrorSign {
  kNone,
  kMention,    ///< speaks of an error, as also harmless messages do: "ERROR", "error: …"
  kError,      ///< an exception, an abort, a failure of CUDA or NCCL
  kTraceback,  ///< begins a Python traceback
};
ErrorSign SignOf(const std::string& line);

/// Fed with the lines of one log in their order. The first traceback or other kError wins; a
/// kMention counts only when there is none. A traceback is taken whole, with those that it says it
/// comes from, also where each line stands behind a prefix like "[rank0]: ". Not thread safe.
class ErrorFinder {
 public:
  static constexpr size_t kLinesBefore = 5;
  /// Of a longer traceback the end is left out.
  static constexpr size_t kMaxLines = 500;

  /// True when the error is complete and no more lines are needed.
  bool Add(const LogLine& line);
  /// The error, when there will be no more lines; nothing when there was none.
  std::optional<PrintedError> Finish();

 private:
  /// Where a traceback stands.
  enum class Part { kNone, kFrames, kException, kDone };

  bool AddToTraceback(const std::string& line);
  PrintedError Begin(const LogLine& line) const;

  Part part_ = Part::kNone;
  std::string prefix_;             // of the traceback's lines
  std::vector<std::string> held_;  // behind the exception: may lead to another traceback
  std::optional<PrintedError> error_;
  std::optional<PrintedError> mention_;
  std::deque<std::string> before_;
  int64_t line_number_ = 0;
};

}  // namespace tony::logs
