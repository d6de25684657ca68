// Runs a small helper program to its end.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "os/processes/exit_status.h"

namespace tony::os {

/// Result of a program that ran to its end.
struct FinishedProgram {
  ExitStatus status;
  std::string standard_output;  // at most 1 MiB of each stream; the rest is read and dropped
  std::string standard_error;
};

/// Runs a program with `environment` ("NAME=value", complete; by default this process's own) and
/// waits until it has ended and its output has ended. Blocks. DeadlineExceeded – it took longer
/// than `limit` and was killed, with everything in its session. Otherwise the codes of
/// Subprocess::Start().
absl::StatusOr<FinishedProgram> RunWithDeadline(
    const std::vector<std::string>& arguments, Duration limit,
    std::optional<std::vector<std::string>> environment = std::nullopt);

}  // namespace tony::os
