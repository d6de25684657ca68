// Dates what executors report, where their messages arrive.
#pragma once

#include <cstdint>

#include "core/job/job_input.h"

namespace tony::core {

/// Gives Unix times to what the input says to be a while ago: ends, first steps, checkpoints
/// (core/tasks/arrival_dates.h). `now_millis`: when the message has arrived, by the
/// ApplicationMaster's clock.
void DateInput(int64_t now_millis, JobInput& input);

}  // namespace tony::core
