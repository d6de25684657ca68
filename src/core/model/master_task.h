// The task that runs the ApplicationMaster's command: alone in a job without tasks, or before all
// others.
#pragma once

#include "core/model/job_description.h"
#include "core/model/task_id.h"

namespace tony::core {

/// What the program of a preprocessing job finds in its environment, as in TonY, besides "true".
inline constexpr char kPreprocessingVariable[] = "PREPROCESSING_JOB";

/// Adds one task of the type kMasterTaskType with the ApplicationMaster's command, files and
/// resources to a job without tasks, which is never retried, as in TonY; and to a job that
/// preprocesses, where it runs before all others. Returns any other job unchanged.
JobDescription WithMasterTask(JobDescription job);

/// True for the type of the task that runs before all others of `job`. It is none of those that a
/// program counts as its fellows.
bool IsPreprocessing(const JobDescription& job, const std::string& task_type);

/// The number of tracked tasks of `job` without that one: TASK_NUM.
int CountTrackedTasks(const JobDescription& job);

}  // namespace tony::core
