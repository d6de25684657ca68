// The lease is the shortest time that any ApplicationMaster waits before it gives a task away.
#include "core/model/lease.h"

#include <algorithm>

namespace tony::core {
namespace {

/// The executors of a job together send at most this many heartbeats: 2,000 a second kept two cores
/// busy.
constexpr int kHeartbeatsPerSecond = 500;
constexpr int kHeartbeatsInLease = 4;

}  // namespace

std::chrono::milliseconds HeartbeatTimeout(const Timeouts& timeouts) {
  return timeouts.heartbeat_interval * std::max(1, timeouts.max_missed_heartbeats);
}

std::chrono::milliseconds LeaseOf(const Timeouts& timeouts) {
  return std::min(HeartbeatTimeout(timeouts), timeouts.reattach);
}

std::chrono::milliseconds HeartbeatPause(const Timeouts& timeouts, int64_t tasks) {
  const std::chrono::milliseconds spread(tasks * 1000 / kHeartbeatsPerSecond);
  return std::max(timeouts.heartbeat_interval,
                  std::min(spread, LeaseOf(timeouts) / kHeartbeatsInLease));
}

}  // namespace tony::core
