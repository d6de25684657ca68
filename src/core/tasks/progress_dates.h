// When a program named its first step and its newest checkpoint, whatever its host's clock says.
#pragma once

#include <cstdint>

#include "common/clock.h"
#include "core/tasks/task_usage.h"

namespace tony::core {

/// Messages take their time: a program may name a step so long before it is heard that it runs.
inline constexpr int64_t kProgressToleranceMillis = 2'000;

/// The measurement has waited for so long before it is sent: what was ago is longer ago now.
void AgeProgress(Duration waited, TaskUsage& usage);

/// Turns what the measurement says to be ago into Unix times. `now_millis`: when it has arrived, by
/// the ApplicationMaster's clock. What is dated already stays.
void DateProgress(int64_t now_millis, TaskUsage& usage);

}  // namespace tony::core
