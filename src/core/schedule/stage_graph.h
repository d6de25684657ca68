// The order of task types: which start together, after which others, and what a failure keeps from
// starting.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/model/job_description.h"

namespace tony::core {

/// How far the tasks of one type are, in numbers of tasks.
struct TypeProgress {
  int started = 0;  ///< whose program was told to run: those that run, and those that ended
  int succeeded = 0;
  bool waited_for = true;  ///< false: it is tracked no longer (DependencyTimeout::ignored)

  bool operator==(const TypeProgress&) const = default;
};

/// By name of the type; types that are not in it have not begun.
using JobProgress = std::map<std::string, TypeProgress>;

/// Types that start together, since they depend on the same ones, directly or through others. All
/// lists are in the job's order.
struct Stage {
  std::vector<std::string> types;
  std::vector<std::string> depends_on;  ///< directly, of any of its types
  /// Its types, and what is not waited for and certainly runs beside them: untracked types and
  /// sidecars that start together with it or earlier.
  std::vector<std::string> together;

  bool operator==(const Stage&) const = default;
};

/// 1. A stage may start when everything that its types depend on (TaskType::depends_on) is
///    fulfilled.
/// 2. A tracked type is fulfilled when all its tasks have succeeded. TonY counts a dependency as
///    done with any exit status; here what is built on a failure does not start.
/// 3. An untracked type or a sidecar is there to run on, so it is fulfilled when all its tasks have
///    been started. That says nothing about what it has got ready: who needs its server waits for
///    it by connecting.
/// Holds no progress: a restart that runs only what is not done needs no word here.
/// Immutable, so thread safe.
class StageGraph {
 public:
  /// The types of a job, without a cycle. Names in `depends_on` that are none of them count as
  /// fulfilled.
  explicit StageGraph(const std::vector<TaskType>& types);

  /// The types of one cycle in their order, the first again at the end: {"a", "b", "a"}, "a"
  /// depending on "b". Empty when there is none.
  static std::vector<std::string> FindCycle(const std::vector<TaskType>& types);

  /// Each after those that it depends on; one for a job without dependencies, none without types.
  const std::vector<Stage>& stages() const { return stages_; }
  /// Index of the type's stage. `type` has to be one of the job's.
  size_t StageOf(const std::string& type) const;
  /// What of its direct dependencies keeps the stage from starting; empty when it may.
  std::vector<std::string> WaitsFor(const Stage& stage, const JobProgress& progress) const;
  /// All that depends on `type`, directly or through others, in the job's order.
  std::vector<std::string> Dependents(const std::string& type) const;

 private:
  struct Node {
    std::string name;
    int instances = 0;
    Tracking tracking = Tracking::kTracked;
    std::vector<size_t> depends_on;  ///< directly
    std::vector<bool> ancestors;     ///< by index of the node: also through others
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
