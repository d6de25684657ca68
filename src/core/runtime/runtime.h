// The environment variables of a task: general ones, and those of the job's framework.
#pragma once

#include <optional>
#include <string>

#include "core/model/job_description.h"
#include "core/runtime/task_context.h"

namespace tony::core {

/// Renders the general variables, the framework's, and the user's own. The caller adds the base
/// (PATH, HOME, …).
Environment RenderEnvironment(const TaskContext& context);

/// True for the chief, the task that owns TensorBoard's port and whose failure always counts:
/// `chief:0`, or `worker:0` in a job without the type `chief`. A job with neither has no chief.
bool IsChief(const TaskId& task, bool job_has_chief_type);

/// TonY's names of the modes: "GANG" and "FCFS".
std::string DistributedModeName(DistributedMode mode);

/// The name "tensorflow", "pytorch", "standalone", "horovod", "jax" or "mxnet".
std::string FrameworkName(Framework framework);
/// Inverse of FrameworkName; nullopt for an unknown name.
std::optional<Framework> ParseFramework(const std::string& name);

}  // namespace tony::core
