// Renders jobs as JSON for programs, for the verbs' option --json.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/jobs/job_store.h"
#include "core/record/verdict.h"
#include "jobfile/xml/problem.h"

namespace tony::client {

/// The end of a submission: the job's id, its verdict, which is null without one, then also the
/// reason for that, and the exit status of tony-submit.
nlohmann::ordered_json EndToJson(const std::string& job_id,
                                 const absl::StatusOr<core::Verdict>& verdict);

/// The refusal of a job with `problems`, before it has an id.
nlohmann::ordered_json RefusalToJson(const std::vector<jobfile::Problem>& problems, int exit_code);

/// One object for each problem: file, line, key, message and remedy.
nlohmann::ordered_json ProblemsToJson(const std::vector<jobfile::Problem>& problems);

/// The job's id, name, state, times and verdict; with `details` also its tasks, waiting,
/// earlier attempts, visualization, notes and log folder. Times are Unix milliseconds; an unknown
/// value is null.
nlohmann::ordered_json JobToJson(const StoredJob& job, bool details);

/// Indented text, ended by '\n'. Bytes that are not UTF-8 are replaced.
std::string DumpJson(const nlohmann::ordered_json& json);
/// DumpJson() in one line.
std::string DumpJsonLine(const nlohmann::ordered_json& json);

}  // namespace tony::client
