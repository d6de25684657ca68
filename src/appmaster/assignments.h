// Determines what each task's executor is told about its task.
#pragma once

#include <string>

#include "core/model/job_description.h"
#include "core/record/task_table.h"
#include "jobfile/job/build_result.h"
#include "tony/v1/application_master.pb.h"
#include "tony/v1/staging.pb.h"

namespace tony::appmaster {

/// The folders for what outlives a task. A plain value.
struct TaskFolders {
  std::string logs;         ///< has a folder for each task; empty: logs stay with each container
  std::string checkpoints;  ///< for jobs that name no checkpoint folder of their own
  std::string cache;        ///< on each host; empty: the executor finds a folder
};

/// Makes assignments from the job's description. Thread safe (immutable).
class Assignments {
 public:
  /// `incarnation`: of this ApplicationMaster. `collective_key`: a secret of the job, for those of
  /// its tasks that have no key of their own.
  Assignments(std::string job_id, int incarnation, const core::JobDescription& job,
              const jobfile::LocalSettings& local, TaskFolders folders, v1::StagedFiles staged,
              std::string collective_key);

  /// `model_parameters`: what the job's preprocessing program printed for the tasks; empty:
  /// nothing.
  v1::Assignment For(const core::Task& task, const std::string& model_parameters = "") const;

 private:
  const std::string job_id_;
  const int incarnation_;
  const core::JobDescription& job_;
  const std::string gpu_tool_;
  const std::chrono::milliseconds gpu_timeout_;
  const bool hides_other_gpus_;
  const TaskFolders folders_;
  const v1::StagedFiles staged_;
  const std::string collective_key_;
  const int tracked_tasks_;
};

}  // namespace tony::appmaster
