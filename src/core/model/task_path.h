// The inverse of TaskId::ToPath().
#pragma once

#include <optional>
#include <string>

#include "absl/strings/numbers.h"
#include "core/model/task_id.h"

namespace tony::core {

/// The task whose folder is called `path` ("parameter-server-0"); nothing: it is no such name. The
/// index follows the last dash, because a type's name may contain dashes. Whether the job has such
/// a task, in exactly this spelling, is for the caller to find out.
inline std::optional<TaskId> TaskFromPath(const std::string& path) {
  const size_t dash = path.rfind('-');
  TaskId task;
  if (dash == std::string::npos || dash == 0 ||
      !absl::SimpleAtoi(path.substr(dash + 1), &task.index)) {
    return std::nullopt;
  }
  task.type = path.substr(0, dash);
  return task;
}

}  // namespace tony::core
