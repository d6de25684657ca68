// Names that nobody guesses.
#pragma once

#include <string>

#include "collective/base/status.h"

namespace tony::collective {

/// 32 hexadecimal digits, no two the same. Internal: no random numbers.
Result<std::string> RandomName();

}  // namespace tony::collective
