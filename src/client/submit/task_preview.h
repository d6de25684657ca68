// The environment that each task of a job would find, before anything runs.
#pragma once

#include <string>
#include <vector>

#include "core/model/job_description.h"
#include "core/runtime/runtime.h"

namespace tony::client {

/// One task and its variables.
struct TaskPreview {
  core::TaskId task;
  std::string command;            ///< of a Horovod job's driver that is tony's: its program's name
  core::Environment environment;  ///< without what the machine has a part in (PATH, HOME, …)
};

/// The tasks in the job's order, at most `limit` of them, all on one host. Where types have an
/// order each task finds those of its stage, and what certainly runs beside them. What is only
/// known while the job runs is a placeholder: HOST, PORT, JOB_ID, CONTAINER_ID, CHECKPOINT_DIR,
/// INTERFACE, SECRET, and GPU0, GPU1, … for devices.
std::vector<TaskPreview> PreviewTasks(const core::JobDescription& job, size_t limit);

}  // namespace tony::client
