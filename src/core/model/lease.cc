// The shortest of what ApplicationMasters wait.
#include "core/model/lease.h"

#include <algorithm>

namespace tony::core {

std::chrono::milliseconds HeartbeatTimeout(const Timeouts& timeouts) {
  return timeouts.heartbeat_interval * std::max(1, timeouts.max_missed_heartbeats);
}

std::chrono::milliseconds LeaseOf(const Timeouts& timeouts) {
  return std::min(HeartbeatTimeout(timeouts), timeouts.reattach);
}

}  // namespace tony::core
