// What a task finds in its environment: general variables, and those of the job's framework.
#pragma once

#include <optional>
#include <string>

#include "core/model/job_description.h"
#include "core/runtime/task_context.h"

namespace tony::core {

/// General variables, the framework's, then the user's own. The base (PATH, HOME, …) is the
/// caller's.
Environment RenderEnvironment(const TaskContext& context);

/// The task that owns TensorBoard's port and whose failure always counts: `chief:0`, else
/// `worker:0`; for a job with neither there is none.
bool IsChief(const TaskId& task, bool job_has_chief_type);

/// "tensorflow", "pytorch", "standalone", "horovod"
std::string FrameworkName(Framework framework);
/// Inverse of FrameworkName; nothing for an unknown name.
std::optional<Framework> ParseFramework(const std::string& name);

}  // namespace tony::core
