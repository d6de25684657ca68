// Waits until one descriptor is readable.
#pragma once

#include "common/clock.h"

namespace tony::os {

/// Whether `fd` became readable, or its other end was gone, within `limit`. Looks once if `limit`
/// is not positive. Signals do not shorten the wait.
bool WaitReadable(int fd, Duration limit);

}  // namespace tony::os
