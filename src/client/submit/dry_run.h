// What --dry-run shows: the merged configuration, the containers, the order of types, and what each
// task would find in its environment.
#pragma once

#include <string>

#include "jobfile/job/job_builder.h"

namespace tony::client {

/// For people. What is only known while the job runs is a placeholder: HOST, PORT, JOB_ID,
/// CONTAINER_ID, GPU0. Of tasks of one type the first is shown in full, of the others what differs;
/// of many tasks the first hundred. `job` must have no problems.
std::string RenderDryRun(const jobfile::LoadedJob& job);

/// The same as a JSON object: name, framework, configuration, containers, totals, stages, tasks.
std::string RenderDryRunJson(const jobfile::LoadedJob& job);

}  // namespace tony::client
