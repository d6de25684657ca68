// Lays environment variables over others.
#pragma once

#include <string>
#include <vector>

namespace tony {

/// The variables of `base` ("NAME=value") that `added` does not replace, followed by those of
/// `added`. Thread safe.
std::vector<std::string> OverlaidVariables(const std::vector<std::string>& base,
                                           const std::vector<std::string>& added);

}  // namespace tony
