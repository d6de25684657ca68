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

  /// From now on tasks of tracked types are told to open an endpoint for data. `buffer_bytes`: of
  /// each feed. `token`: a secret, for producers.
  void set_feed(int64_t buffer_bytes, std::string token) {
    feed_buffer_ = buffer_bytes;
    feed_token_ = std::move(token);
  }

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
  int64_t feed_buffer_ = 0;
  std::string feed_token_;  ///< empty: tasks are not fed
};

/// Whether this task of a job that is fed has an endpoint for data: it is of a tracked type, and
/// the user's own.
bool IsFed(const core::Task& task);

}  // namespace tony::appmaster
