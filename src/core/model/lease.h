// For how long a sign of life of an executor counts.
#pragma once

#include <chrono>
#include <cstdint>

#include "core/model/job_description.h"

namespace tony::core {

/// Silence of an executor after which it counts as lost.
std::chrono::milliseconds HeartbeatTimeout(const Timeouts& timeouts);

/// For how long a program may run after its executor's last sign of life. No ApplicationMaster
/// gives its task to another container before that: one that heard the sign waits for
/// HeartbeatTimeout(), one that was started since then waits for the executor to attach again.
std::chrono::milliseconds LeaseOf(const Timeouts& timeouts);

/// Between two signs of life of each of `tasks` executors: the job's heartbeat interval; longer in
/// a job of many tasks, whose ApplicationMaster would do little else than answer them, but never so
/// long that fewer than four fit into a lease.
std::chrono::milliseconds HeartbeatPause(const Timeouts& timeouts, int64_t tasks);

}  // namespace tony::core
