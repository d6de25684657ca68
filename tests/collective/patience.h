// How long tests wait for what must come: much longer than it takes on a loaded machine.
#pragma once

#include <chrono>

namespace tony::collective {

inline constexpr auto kPatience = std::chrono::seconds(60);

}  // namespace tony::collective
