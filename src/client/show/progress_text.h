// A program's progress as short texts for people.
#pragma once

#include <string>

#include "core/tasks/task_usage.h"

namespace tony::client {

/// "2.1/s", "1.2/min", "0.5/h"; empty for a negative rate, which is unknown.
std::string RateText(double per_second);

/// "120 (2.1/s)", or "120" where the speed is unknown; empty if the program has named no step.
std::string StepText(const core::Progress& progress);

/// "0.3125", with four significant digits.
std::string ValueText(double value);

}  // namespace tony::client
