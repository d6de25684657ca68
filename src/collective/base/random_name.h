// Random names that nobody can guess.
#pragma once

#include <string>

#include "collective/base/status.h"

namespace tony::collective {

/// A new name of 32 hexadecimal digits. Internal – the kernel gives no random numbers.
Result<std::string> RandomName();

}  // namespace tony::collective
