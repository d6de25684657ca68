// Waiting for one descriptor.
#pragma once

#include "common/clock.h"

namespace tony::os {

/// Whether `fd` became readable, or its other end was gone, within `limit`; looks once when that is
/// not positive. Signals do not cut the wait short.
bool WaitReadable(int fd, Duration limit);

}  // namespace tony::os
