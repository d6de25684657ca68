// What is known of a task's use of its machine, as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/tasks/task_usage.h"

namespace tony::core {

/// Adds to `json` the members that not every task has: a member is there only if its number is
/// known. The names are those of core::TaskUsage.
void AddKnownUsage(const core::TaskUsage& usage, nlohmann::ordered_json& json);

/// What the program says of its progress; what it has not said is null.
nlohmann::ordered_json ProgressJson(const Progress& progress);

}  // namespace tony::core
