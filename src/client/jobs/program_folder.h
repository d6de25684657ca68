// The folder that `tony run` packs for the tasks: how large it is, and what is left out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace tony::client {

/// A folder as its archive would hold it. Plain data.
struct ProgramFolder {
  int64_t files = 0;
  int64_t bytes = 0;
  std::string largest;  ///< the largest entry right below it
  int64_t largest_bytes = 0;
  std::vector<std::string> environments;  ///< virtual environments right below it; not counted
};

/// Measures `folder`. Stops counting a little above kMostProgramBytes or kMostProgramFiles. What
/// cannot be read counts as nothing: packing it names the file.
ProgramFolder MeasureProgram(const std::string& folder);

/// The sizes above which a folder is more likely data than a program.
constexpr int64_t kMostProgramBytes = int64_t{512} << 20;
constexpr int64_t kMostProgramFiles = 20'000;

/// InvalidArgument – the folder is too large; the message names its largest entry and what to do.
absl::Status CheckProgramSize(const ProgramFolder& program, const std::string& folder);

}  // namespace tony::client
