// A type without instances does not count as a task, so such a job also runs in the
// ApplicationMaster.
#include "core/model/master_task.h"

#include <algorithm>

namespace tony::core {

JobDescription WithMasterTask(JobDescription job) {
  const bool has_tasks = std::any_of(job.types.begin(), job.types.end(),
                                     [](const TaskType& type) { return type.instances > 0; });
  if (has_tasks) return job;
  TaskType type;
  type.name = kMasterTaskType;
  type.instances = 1;
  type.resources = job.am_resources;
  type.command = job.am_command;
  type.files = job.am_files;
  job.types = {std::move(type)};
  job.retry_count = 0;
  return job;
}

}  // namespace tony::core
