// Reads durations of the command line.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/clock.h"

namespace tony::client {

/// The duration `text` of the option `name`: a number of seconds, or a number with a unit.
/// `example`: for the message. InvalidArgument – it is neither.
absl::StatusOr<Duration> ParseDuration(const std::string& name, const std::string& text,
                                       const std::string& example);

}  // namespace tony::client
