// Jobs as JSON for programs: what --json of the verbs prints.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "client/jobs/job_store.h"

namespace tony::client {

/// id, name, state, times, verdict; with `details` also tasks, waiting, visualization, notes and
/// the log folder. Times are Unix milliseconds; what is not known is null.
nlohmann::ordered_json JobToJson(const StoredJob& job, bool details);

/// Indented text, ended by '\n'. Bytes that are not UTF-8 are replaced.
std::string DumpJson(const nlohmann::ordered_json& json);
/// The same in one line.
std::string DumpJsonLine(const nlohmann::ordered_json& json);

}  // namespace tony::client
