// Finds the Python traceback in a program's output.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace tony::core {

/// A traceback, and those that it is the consequence of ("During handling of the above exception,
/// another exception occurred"): lines `first` to `last` of the output.
struct PythonTraceback {
  size_t first = 0;  ///< "Traceback (most recent call last):"
  size_t last = 0;   ///< the last exception's line, or of the output when there is none
  std::vector<size_t> exceptions;  ///< lines such as "ValueError: no such layer", the oldest first

  bool operator==(const PythonTraceback&) const = default;
};

/// The last traceback in `lines`; nothing where there is none. Knows the prefixes in brackets that
/// launchers put before each line ("[rank0]: ").
std::optional<PythonTraceback> LastPythonTraceback(const std::vector<std::string>& lines);

}  // namespace tony::core
