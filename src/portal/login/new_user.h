// Makes a line of the file of users.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace tony::portal {

/// Reads the password of the new user `wish`, "NAME" or "NAME:ROLE" (view unless given), from
/// standard input: in a terminal twice and without an echo, otherwise one line. Returns the line.
/// InvalidArgument – `wish` or the password is not good. Unavailable – no password came.
absl::StatusOr<std::string> MakeUserLine(const std::string& wish);

}  // namespace tony::portal
