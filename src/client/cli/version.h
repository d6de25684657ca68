// The version that --version prints.
#pragma once

namespace tony::client {

/// Equal to the version in the project's CMakeLists.txt.
inline constexpr char kVersion[] = "0.1.0";

}  // namespace tony::client
