// A type without instances does not count as a task, so such a job also runs in the
// ApplicationMaster.
#include "core/model/master_task.h"

#include <algorithm>
#include <utility>

namespace tony::core {

namespace {

/// The task that everything else waits for. Its failure counts even where failures are tolerated:
/// nothing else would start.
void AddPreprocessing(TaskType first, JobDescription& job) {
  first.stop_on_failure = true;
  first.env[kPreprocessingVariable] = "true";
  for (TaskType& type : job.types) {
    type.depends_on.insert(type.depends_on.begin(), first.name);
  }
  job.types.insert(job.types.begin(), std::move(first));
}

}  // namespace

JobDescription WithMasterTask(JobDescription job) {
  const bool has_tasks = std::any_of(job.types.begin(), job.types.end(),
                                     [](const TaskType& type) { return type.instances > 0; });
  if (has_tasks && !job.preprocess) return job;
  TaskType type;
  type.name = kMasterTaskType;
  type.instances = 1;
  type.resources = job.am_resources;
  type.command = job.am_command;
  type.files = job.am_files;
  if (has_tasks) {
    AddPreprocessing(std::move(type), job);
    return job;
  }
  job.types = {std::move(type)};
  job.retry_count = 0;
  return job;
}

bool IsPreprocessing(const JobDescription& job, const std::string& task_type) {
  return job.preprocess && task_type == kMasterTaskType && job.types.size() > 1;
}

int CountTrackedTasks(const JobDescription& job) {
  int count = 0;
  for (const TaskType& type : job.types) {
    if (type.tracking != Tracking::kTracked) continue;
    if (!IsPreprocessing(job, type.name)) count += type.instances;
  }
  return count;
}

}  // namespace tony::core
