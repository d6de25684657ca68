// Finders for the last Python traceback and for Python's fatal error in a program's output.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace tony::core {

/// A traceback together with those that it follows from ("During handling of the above exception,
/// another exception occurred"): lines `first` to `last` of the output.
struct PythonTraceback {
  size_t first = 0;  ///< "Traceback (most recent call last):"
  size_t last = 0;   ///< line of the last exception; without one, the output's last line
  std::vector<size_t> exceptions;  ///< lines such as "ValueError: no such layer", the oldest first

  bool operator==(const PythonTraceback&) const = default;
};

/// The last traceback in `lines`; nullopt when there is none. Recognizes the prefixes in brackets
/// that launchers put before each line ("[rank0]: ").
std::optional<PythonTraceback> LastPythonTraceback(const std::vector<std::string>& lines);

/// The exception that ended the last traceback, without a launcher's prefix: "ValueError: no such
/// layer". Empty when there is none.
std::string LastException(const std::vector<std::string>& lines);

/// The line "Fatal Python error: Segmentation fault", which faulthandler prints before the stacks
/// of all threads when a signal kills the program; nullopt when there is none. Of several the last.
std::optional<size_t> FatalPythonError(const std::vector<std::string>& lines);

}  // namespace tony::core
