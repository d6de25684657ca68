// The token that a program sends with each request, as it stands in a file.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace tony::jobfile {

inline constexpr size_t kShortestToken = 32;
inline constexpr size_t kLongestToken = 1024;

/// The token in `text`, the content of the file `path`, without the white space around it.
/// InvalidArgument – it is shorter or longer than the limits, or has other characters than a header
/// can carry (RFC 6750: letters, digits and -._~+/=); the message does not quote it.
absl::StatusOr<std::string> ParseBearerToken(const std::string& text, const std::string& path);

}  // namespace tony::jobfile
