// Which task shows pictures: TensorBoard's, or a notebook's, port belongs to it.
#pragma once

#include <optional>

#include "core/model/job_description.h"
#include "core/model/task_id.h"

namespace tony::core {

/// 1. A job with a type `tensorboard` runs it there: `tensorboard:0`.
/// 2. Otherwise the chief does: `chief:0`, or `worker:0` in a job without that type.
/// 3. Otherwise the job's first task. Nothing for a job without tasks.
std::optional<TaskId> VisualizationTask(const JobDescription& job);

}  // namespace tony::core
