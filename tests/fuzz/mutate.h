// Changes an input a little, always in the same way.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tony::fuzz {

/// The mutation number `number` of one of `seeds`, of which there is one at least: bytes changed,
/// left out, repeated, moved or put in, numbers at their limits, parts of other seeds. The same
/// number gives the same bytes on every machine.
std::string Mutate(const std::vector<std::string>& seeds, uint32_t number);

}  // namespace tony::fuzz
