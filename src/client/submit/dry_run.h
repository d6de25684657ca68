// Renders what --dry-run shows: the merged configuration, the containers, the order of types, and
// the environment of each task.
#pragma once

#include <string>

#include "jobfile/job/job_builder.h"

namespace tony::client {

/// Renders the dry run for people. Values that are only known while the job runs are placeholders:
/// HOST, PORT, JOB_ID, CONTAINER_ID, GPU0. The first task of each type is shown in full, further
/// tasks with their differences, at most a hundred tasks in all. `job` must have no problems.
std::string RenderDryRun(const jobfile::LoadedJob& job);

/// Renders the dry run as a JSON object: name, framework, configuration, containers, totals,
/// stages, tasks.
std::string RenderDryRunJson(const jobfile::LoadedJob& job);

}  // namespace tony::client
