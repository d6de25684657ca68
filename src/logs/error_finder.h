// Finds the first error in the lines of a program's output.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "logs/log_reader.h"

namespace tony::logs {

/// An error as the program printed it.
struct PrintedError {
  int64_t line_number = 0;          ///< line number in the log of the error's first line, from 1
  int64_t unix_millis = 0;          ///< time of that line; 0: not known
  std::vector<std::string> before;  ///< the preceding lines, at most ErrorFinder::kLinesBefore
  std::vector<std::string> lines;   ///< all lines of the error
  LogPosition position = {};        ///< of the error's first line
  int64_t offset = -1;              ///< likewise, as LogBytes counts; -1: not known
};

/// Meaning of one line of output.
enum class ErrorSign {
  kNone,
  kMention,    ///< speaks of an error, as harmless messages do too: "ERROR", "error: …"
  kError,      ///< an exception, an abort, a failure of CUDA or NCCL
  kTraceback,  ///< begins a Python traceback
};
ErrorSign SignOf(const std::string& line);

/// Takes the lines of one log in their order. The first traceback or other kError wins; a kMention
/// counts only if there is neither. A traceback is collected whole, with the tracebacks that it
/// says it comes from, even if each line has a prefix like "[rank0]: ". The stacks that follow
/// "Fatal Python error" are part of that error. Not thread safe.
class ErrorFinder {
 public:
  static constexpr size_t kLinesBefore = 5;
  /// Lines kept of one error; the end of a longer traceback is left out.
  static constexpr size_t kMaxLines = 500;

  /// Adds the next line. Returns true when the error is complete and no more lines are needed.
  bool Add(const LogLine& line);
  /// Counts a line that is not looked at. To be called before the first Add() only.
  void Skip() { ++line_number_; }
  /// The error, when no more lines will come; nothing if there was none.
  std::optional<PrintedError> Finish();

 private:
  /// Position in a traceback, or in the stacks of a Python that a signal killed.
  enum class Part { kNone, kFrames, kException, kStacks, kDone };

  bool AddToTraceback(const std::string& line);
  bool AddToStacks(const std::string& line);
  PrintedError Begin(const LogLine& line) const;

  Part part_ = Part::kNone;
  std::string prefix_;             // prefix of the traceback's lines
  std::vector<std::string> held_;  // lines that belong to the error only if more of it follows
  std::optional<PrintedError> error_;
  std::optional<PrintedError> mention_;
  // the last lines, for PrintedError::before
  std::deque<std::string> before_;
  int64_t line_number_ = 0;
};

/// Whether the error may be a harmless message, such as "train error: 0.3".
bool IsMention(const PrintedError& error);
/// Whether `left` explains more than `right`: a real error before a mention, then the earlier one.
bool ExplainsMore(const PrintedError& left, const PrintedError& right);

/// The first error of the log `path` (of its first segment); nothing if there is none, or no such
/// log. Lines that are known to be older than `since_millis` do not count. Ends with what was found
/// when `enough`, which may be null and is asked now and then, returns true. Thread safe.
std::optional<PrintedError> FindFirstErrorIn(const std::string& path, int64_t since_millis,
                                             const std::function<bool()>& enough);

}  // namespace tony::logs
