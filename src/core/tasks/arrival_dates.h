// Dates of what executors report, by the ApplicationMaster's clock, whatever their hosts' clocks
// say.
#pragma once

#include <cstdint>

#include "common/clock.h"
#include "core/tasks/task_exit.h"
#include "core/tasks/task_usage.h"

namespace tony::core {

/// Messages take their time: a program may name a step so long before it is heard that it runs.
inline constexpr int64_t kProgressToleranceMillis = 2'000;

/// Likewise ends and errors of tasks on different hosts: which of them came first is open if their
/// dates differ by no more.
inline constexpr int64_t kArrivalToleranceMillis = 1'000;

/// The measurement has waited for so long before it is sent: what was ago is longer ago now.
void AgeProgress(Duration waited, TaskUsage& usage);

/// Turns what the measurement says to be ago into Unix times. `now_millis`: when it has arrived, by
/// the ApplicationMaster's clock. What is dated already stays.
void DateProgress(int64_t now_millis, TaskUsage& usage);

/// Likewise for the end of a task. An exit that does not say how long ago it was keeps its date.
void DateExit(int64_t now_millis, TaskExit& exit);

/// By how much a host's clock is ahead of the ApplicationMaster's (negative: behind it), if they
/// show these Unix times at the same moment. 0 within kArrivalToleranceMillis, which may be the way
/// of the message alone, and when one of them is 0 (not known).
int64_t ClockAhead(int64_t host_millis, int64_t master_millis);

}  // namespace tony::core
