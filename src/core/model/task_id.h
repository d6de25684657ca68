// The name of one task of a job: its type and its index within the type.
#pragma once

#include <compare>
#include <string>

namespace tony::core {

/// A task's id, written "worker:0". Ordered by type name, then index.
struct TaskId {
  std::string type;
  int index = 0;

  auto operator<=>(const TaskId&) const = default;
  /// The name "worker:0".
  std::string ToString() const { return type + ":" + std::to_string(index); }
  /// The form "worker-0" for folder names.
  std::string ToPath() const { return type + "-" + std::to_string(index); }
};

}  // namespace tony::core
