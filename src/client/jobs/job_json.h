// Renders jobs as JSON for programs, for the verbs' option --json.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "client/jobs/job_store.h"

namespace tony::client {

/// The job's id, name, state, times and verdict; with `details` also its tasks, waiting,
/// earlier attempts, visualization, notes and log folder. Times are Unix milliseconds; an unknown
/// value is null.
nlohmann::ordered_json JobToJson(const StoredJob& job, bool details);

/// Indented text, ended by '\n'. Bytes that are not UTF-8 are replaced.
std::string DumpJson(const nlohmann::ordered_json& json);
/// DumpJson() in one line.
std::string DumpJsonLine(const nlohmann::ordered_json& json);

}  // namespace tony::client
