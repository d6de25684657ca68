// Tries the types by precedence; types without instances do not count.
#include "core/runtime/visualization.h"

namespace tony::core {

std::optional<TaskId> VisualizationTask(const JobDescription& job) {
  for (const char* name : {"tensorboard", "chief", "worker"}) {
    const TaskType* type = job.FindType(name);
    if (type != nullptr && type->instances > 0) return TaskId{name, 0};
  }
  for (const TaskType& type : job.types) {
    if (type.instances > 0) return TaskId{type.name, 0};
  }
  return std::nullopt;
}

}  // namespace tony::core
