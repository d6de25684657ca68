// The lease is the shortest time that any ApplicationMaster waits before it gives a task away.
#include "core/model/lease.h"

#include <algorithm>

namespace tony::core {
namespace {

/// The executors of a job together send at most this many messages of a kind: 1,000 a second took a
/// third of a core.
constexpr int kMessagesPerSecond = 100;
/// The longest pause, as a part of the lease: two heartbeats fit, and more than half of it is left
/// for the answer to the first.
constexpr double kMostOfLease = 0.4;

/// Pauses from this one on end with whole seconds.
constexpr std::chrono::milliseconds kLongPause{3000};
constexpr std::chrono::milliseconds kTolerance{20};

std::chrono::milliseconds Spread(int64_t tasks) {
  return std::chrono::milliseconds(tasks * 1000 / kMessagesPerSecond);
}

}  // namespace

std::chrono::milliseconds HeartbeatTimeout(const Timeouts& timeouts) {
  return timeouts.heartbeat_interval * std::max(1, timeouts.max_missed_heartbeats);
}

std::chrono::milliseconds LeaseOf(const Timeouts& timeouts) {
  return std::min(HeartbeatTimeout(timeouts), timeouts.reattach);
}

std::chrono::milliseconds HeartbeatPause(const Timeouts& timeouts, int64_t tasks) {
  const auto most =
      std::chrono::duration_cast<std::chrono::milliseconds>(LeaseOf(timeouts) * kMostOfLease);
  return std::max(timeouts.heartbeat_interval, std::min(Spread(tasks), most));
}

std::chrono::milliseconds LeaseFor(int64_t tasks) {
  return std::chrono::ceil<std::chrono::milliseconds>(Spread(tasks) / kMostOfLease);
}

// The tolerance is for a timer that is a little early: its next pause would be a second shorter.
std::chrono::milliseconds NextHeartbeat(std::chrono::milliseconds pause, int64_t now) {
  if (pause < kLongPause) return pause;
  constexpr int64_t kSecond = 1000;
  const int64_t at = (now + pause.count() + kTolerance.count()) / kSecond * kSecond;
  return std::chrono::milliseconds(at - now);
}

std::chrono::milliseconds MeasurementPause(const Timeouts& timeouts, int64_t tasks) {
  return std::max(timeouts.metrics_interval, Spread(tasks));
}

}  // namespace tony::core
