// The name of one task of a job: its type and its index within the type.
#pragma once

#include <compare>
#include <string>

namespace tony::core {

/// The type of the one task of a job without tasks: its command runs in the ApplicationMaster's own
/// container.
inline constexpr char kMasterTaskType[] = "am";

/// The name of a type for people: that one is "main", since every job has an ApplicationMaster,
/// whose log is called "am".
inline std::string TypeName(const std::string& type) {
  return type == kMasterTaskType ? "main" : type;
}

/// A task's id, written "worker:0". Ordered by type name, then index.
struct TaskId {
  std::string type;
  int index = 0;

  auto operator<=>(const TaskId&) const = default;
  /// The name "worker:0"; "main:0" for am:0.
  std::string ToString() const { return TypeName(type) + ":" + std::to_string(index); }
  /// The form "worker-0" for folder names.
  std::string ToPath() const { return type + "-" + std::to_string(index); }
};

}  // namespace tony::core
