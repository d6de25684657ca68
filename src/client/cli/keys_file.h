// Reads configuration keys that a program hands over as JSON instead of as options.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "jobfile/configuration/configuration_loader.h"

namespace tony::client {

/// The keys of the JSON object in `file`, "-" for standard input, as overrides of `--keys`. A value
/// is a text, a number, a boolean or an array of them, whose items are those of a list. Unlike
/// options, the values cannot be read by the machine's other users. InvalidArgument – the file
/// cannot be read or is no such object.
absl::StatusOr<std::vector<jobfile::Override>> ReadKeysFile(const std::string& file);

}  // namespace tony::client
