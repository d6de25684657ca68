// Finds the parameters that a preprocessing program prints for the tasks of its job.
#pragma once

#include <cstddef>
#include <string>

namespace tony::executor {

/// Looks for the first line with "Model parameters: " in it; what follows on that line are the
/// parameters, as in TonY. Not thread safe.
class ParameterFinder {
 public:
  /// The longest parameters: Linux passes no longer variable to a program than 128 KiB.
  static constexpr size_t kMaxBytes = 120 * 1024;

  /// Adds bytes of the program's standard output, in any pieces.
  void Add(const char* data, size_t size);
  /// Takes the last line as complete, although it has no end.
  void Finish();
  /// Empty: none were printed, or they were too long.
  const std::string& parameters() const { return parameters_; }
  /// True when a line had longer parameters than kMaxBytes, which are not kept.
  bool too_long() const { return too_long_; }

 private:
  void EndLine();

  std::string line_;  ///< the unfinished line, up to the first byte that is too much
  bool found_ = false;
  bool too_long_ = false;
  std::string parameters_;
};

}  // namespace tony::executor
