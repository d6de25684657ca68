// Repeats poll() with the remaining time when a signal interrupts it.
#include "os/files/wait_readable.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

namespace tony::os {

bool WaitReadable(int fd, Duration limit) {
  const SystemClock clock;
  const TimePoint deadline = clock.Now() + limit;
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock.Now());
    pollfd watched{.fd = fd, .events = POLLIN};
    const int ready = ::poll(&watched, 1, static_cast<int>(std::max<int64_t>(0, left.count())));
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

}  // namespace tony::os
