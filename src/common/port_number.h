// The range of TCP port numbers.
#pragma once

namespace tony {

inline constexpr int kLargestPort = 65535;

}  // namespace tony
