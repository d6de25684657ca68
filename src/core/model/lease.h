// The validity of an executor's heartbeat: the time limits on both sides of the lease.
#pragma once

#include <chrono>
#include <cstdint>

#include "core/model/job_description.h"

namespace tony::core {

/// The silence after which an executor counts as lost.
std::chrono::milliseconds HeartbeatTimeout(const Timeouts& timeouts);

/// How long a program may run after its executor's last sign of life. No ApplicationMaster gives
/// the task to another container before that: one that received that sign waits for
/// HeartbeatTimeout(), and one that started later waits for the executor to attach again.
std::chrono::milliseconds LeaseOf(const Timeouts& timeouts);

/// The pause between two heartbeats of each of `tasks` executors. It is the job's heartbeat
/// interval, and longer in a job of many tasks, whose ApplicationMaster would do little but answer
/// them; at least two heartbeats fit into a lease.
std::chrono::milliseconds HeartbeatPause(const Timeouts& timeouts, int64_t tasks);

/// The shortest lease in which HeartbeatPause() can be as long as `tasks` executors need.
std::chrono::milliseconds LeaseFor(int64_t tasks);

/// The time from `now` (Unix time in milliseconds) to the next heartbeat of an executor that sends
/// one each `pause`. Long pauses end with whole seconds, at most one earlier: the heartbeats of
/// many executors then come together, and the ApplicationMaster wakes once for all of them.
std::chrono::milliseconds NextHeartbeat(std::chrono::milliseconds pause, int64_t now);

/// How long an executor may keep measurements back, so that many executors do not send one message
/// for each. With few tasks it is the pause between two measurements.
std::chrono::milliseconds MeasurementPause(const Timeouts& timeouts, int64_t tasks);

}  // namespace tony::core
