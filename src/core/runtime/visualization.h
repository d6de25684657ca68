// The choice of the task that owns the port of TensorBoard or a notebook.
#pragma once

#include <optional>

#include "core/model/job_description.h"
#include "core/model/task_id.h"

namespace tony::core {

/// 1. In a job with a type `tensorboard` it is `tensorboard:0`.
/// 2. Otherwise it is the chief: `chief:0`, or `worker:0` in a job without that type.
/// 3. Otherwise it is the job's first task. nullopt for a job without tasks.
std::optional<TaskId> VisualizationTask(const JobDescription& job);

}  // namespace tony::core
