// Previews the environment of each task of a job, before anything runs.
#pragma once

#include <string>
#include <vector>

#include "core/model/job_description.h"
#include "core/runtime/runtime.h"

namespace tony::client {

/// One task with its command and its variables.
struct TaskPreview {
  core::TaskId task;
  std::string command;  ///< the task's command; of a Horovod driver that is tony's own, the driver
                        ///< program's name
  core::Environment environment;  ///< variables except those that the machine influences (PATH,
                                  ///< HOME, …)
};

/// The tasks in the job's order, at most `limit` of them, all on one host. When types have an
/// order, each task sees the tasks of its stage and those that certainly run beside them. Values
/// that are only known while the job runs are placeholders: HOST, PORT, JOB_ID, CONTAINER_ID,
/// CHECKPOINT_DIR, INTERFACE, SECRET, and GPU0, GPU1, … for devices.
std::vector<TaskPreview> PreviewTasks(const core::JobDescription& job, size_t limit);

}  // namespace tony::client
