// The numbers of TCP's ports.
#pragma once

namespace tony {

inline constexpr int kLargestPort = 65535;

}  // namespace tony
