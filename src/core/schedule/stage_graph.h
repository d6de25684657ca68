// The order of task types: which of them start together, after which others, and which never start
// after a failure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/model/job_description.h"

namespace tony::core {

/// The progress of one type, in numbers of tasks.
struct TypeProgress {
  int started = 0;  ///< tasks told to run: those that run, and those that ended
  int succeeded = 0;
  bool waited_for = true;  ///< false: no longer tracked (DependencyTimeout::ignored)

  bool operator==(const TypeProgress&) const = default;
};

/// The progress by name of the type; a missing type has not begun.
using JobProgress = std::map<std::string, TypeProgress>;

/// Types that start together, since they depend on the same types, directly or through others. All
/// lists are in the job's order.
struct Stage {
  std::vector<std::string> types;
  std::vector<std::string> depends_on;  ///< direct dependencies of its types
  /// Its types, and the untracked types and sidecars that certainly run beside them, since they
  /// start together with the stage or earlier.
  std::vector<std::string> together;

  bool operator==(const Stage&) const = default;
};

/// 1. A stage may start when every dependency of its types (TaskType::depends_on) is fulfilled.
/// 2. A dependency on a tracked type is fulfilled when all its tasks have succeeded. TonY accepts
///    any exit status; here, what builds on a failure does not start.
/// 3. A dependency on an untracked type or a sidecar is fulfilled when all its tasks have been
///    started, since it is there to keep running. That says nothing about its readiness: a client
///    of its server waits by connecting.
/// The graph holds no progress, so a restart of unfinished types needs no change here.
/// Immutable, so thread safe.
class StageGraph {
 public:
  /// `types`: the types of a job, without a cycle. Names in `depends_on` that are not among them
  /// count as fulfilled.
  explicit StageGraph(const std::vector<TaskType>& types);

  /// The types of one cycle in order, with the first again at the end: {"a", "b", "a"}, where "a"
  /// depends on "b". Empty when there is no cycle.
  static std::vector<std::string> FindCycle(const std::vector<TaskType>& types);

  /// The stages, each after those that it depends on: one for a job without dependencies, none
  /// without types.
  const std::vector<Stage>& stages() const { return stages_; }
  /// The index of the type's stage. `type` must be one of the job's.
  size_t StageOf(const std::string& type) const;
  /// The direct dependencies that keep the stage from starting; empty when it may start.
  std::vector<std::string> WaitsFor(const Stage& stage, const JobProgress& progress) const;
  /// All types that depend on `type`, directly or through others, in the job's order.
  std::vector<std::string> Dependents(const std::string& type) const;

 private:
  struct Node {
    std::string name;
    int instances = 0;
    Tracking tracking = Tracking::kTracked;
    std::vector<size_t> depends_on;  ///< direct dependencies
    std::vector<bool> ancestors;     ///< direct and indirect dependencies, by index of the node
    size_t stage = 0;
  };

  void AddAncestors(size_t node, std::vector<bool>& done);
  void MakeStages();
  Stage MakeStage(size_t index, const Node& first) const;
  bool Fulfilled(const Node& node, const JobProgress& progress) const;
  const Node* Find(const std::string& name) const;

  std::vector<Node> nodes_;
  std::vector<Stage> stages_;
};

}  // namespace tony::core
