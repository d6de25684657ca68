// Durations as short texts for people.
#pragma once

#include <cstdint>
#include <string>

#include "common/clock.h"

namespace tony::core {

/// "<0.1s", "0.4s", "12s", "3m 05s", "2h 07m", "3d 04h"; a negative duration is "-".
std::string FormatDuration(int64_t millis);
/// "0.5 s", "60 s": the form in which sentences name a configured time.
std::string SecondsText(Duration duration);

}  // namespace tony::core
