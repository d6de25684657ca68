// The order of task types: which may start, which are done, and what a failure leaves waiting for
// ever.
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
  int failed = 0;  ///< for good: no restart will come

  bool operator==(const TypeProgress&) const = default;
};

/// By name of the type; types that are not in it have not begun.
using JobProgress = std::map<std::string, TypeProgress>;

/// A type that will never start.
struct BlockedType {
  std::string type;
  std::string failed;  ///< the type that it depends on, perhaps through others, and that failed

  bool operator==(const BlockedType&) const = default;
};

/// 1. A type may start when everything that it depends on (TaskType::depends_on) is fulfilled.
/// 2. A tracked type is fulfilled when all its tasks have succeeded. TonY counts a dependency as
///    done with any exit status; here what is built on a failure does not start.
/// 3. An untracked type or a sidecar is there to run on, so it is fulfilled when all its tasks have
///    been started. That says nothing about what it has got ready: who needs its server waits for
///    it by connecting.
/// 4. A tracked type with a failed task blocks all that depends on it, directly or through others.
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

  /// Whether any type depends on another one; where none does, all start together.
  bool ordered() const;
  /// The types that may start and have not begun, in the job's order.
  std::vector<std::string> Startable(const JobProgress& progress) const;
  /// The tracked types at their end: all their tasks have succeeded. In the job's order.
  std::vector<std::string> Complete(const JobProgress& progress) const;
  /// What of its direct dependencies keeps `type` from starting; empty when it may.
  std::vector<std::string> WaitsFor(const std::string& type, const JobProgress& progress) const;
  /// All that depends on `type`, directly or through others, in the job's order.
  std::vector<std::string> Dependents(const std::string& type) const;
  /// The types that have not begun and never will, in the job's order.
  std::vector<BlockedType> Blocked(const JobProgress& progress) const;

 private:
  struct Node {
    std::string name;
    int instances = 0;
    Tracking tracking = Tracking::kTracked;
    std::vector<size_t> depends_on;  ///< directly
    std::vector<bool> ancestors;     ///< by index of the node: also through others
  };

  void AddAncestors(size_t node, std::vector<bool>& done);
  bool Fulfilled(const Node& node, const JobProgress& progress) const;
  const Node* Find(const std::string& name) const;

  std::vector<Node> nodes_;
};

}  // namespace tony::core
