// Renders the order in which a job's task types start, for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/model/job_description.h"

namespace tony::client {

/// Renders the stages, one line each, and the time limits after groups. Empty for a job whose tasks
/// all start together, without limits.
std::string RenderOrder(const core::JobDescription& job);

/// Adds `stages`, an array of {types, depends_on}, and `dependency_timeouts` to `json`.
void AddOrder(const core::JobDescription& job, nlohmann::ordered_json& json);

}  // namespace tony::client
