// The job's tasks, found by name or by container, with counts by state.
#pragma once

#include <array>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "common/clock.h"
#include "core/job/job_state.h"
#include "core/job/task_exit.h"
#include "core/model/job_description.h"
#include "core/model/task_id.h"
#include "core/ports/cluster_backend.h"

namespace tony::core {

/// One task within the current epoch, with the container it is bound to.
struct Task {
  TaskId id;
  const TaskType* type = nullptr;
  TaskState state = TaskState::kNew;
  TimePoint since;  ///< of the newest change of state
  int attempt = 0;  ///< starts, the one that is prepared included; 0 before the first container
  std::optional<Container> container;  ///< bound
  bool attached = false;               ///< its executor's stream is open
  std::string containment;             ///< of that executor
  bool kept = false;  ///< the container is older than this epoch, or than this ApplicationMaster
  bool dismissed = false;                ///< told to shut down: how it ends says nothing
  bool killed = false;                   ///< tony ends the container: its executor is not heard
  TimePoint waiting_since;               ///< container granted, or epoch opened when kept
  TimePoint last_heard;                  ///< newest message of its executor
  std::optional<TimePoint> reattach_by;  ///< while the executor is to open another stream
  bool awaited_back = false;             ///< since the ApplicationMaster was restarted
  int port = 0;
  int visualization_port = 0;
  int64_t pid = 0;
  std::optional<TaskExit> exit;  ///< set in kFailed and kSucceeded
  /// It starts anew in an epoch that goes on, with those that have the same number; 0: it does not.
  int restart = 0;
  std::string stranger;  ///< who took one of its ports, if anybody did

  /// Its run in this epoch has ended.
  bool over() const {
    return state == TaskState::kSucceeded || state == TaskState::kFailed ||
           state == TaskState::kStopped;
  }
};

/// Not thread safe: owned by the state machine. References stay valid: the set of tasks never
/// changes.
class TaskTable {
 public:
  /// `types` must outlive the table.
  explicit TaskTable(const std::vector<TaskType>& types);

  std::vector<Task>& all() { return tasks_; }
  const std::vector<Task>& all() const { return tasks_; }
  /// Null when no task is bound to the container.
  Task* FindByContainer(const std::string& container_id);
  const Task* FindByContainer(const std::string& container_id) const;
  /// Null when the job has no such task.
  Task* Find(const TaskId& id);
  /// The first task of `type` without a container; null when there is none.
  Task* FirstUnbound(const std::string& type);

  void SetState(Task& task, TaskState state);
  void Bind(Task& task, const Container& container);
  void Unbind(Task& task);

  int count(TaskState state) const { return counts_[static_cast<size_t>(state)]; }
  /// The same, of tracked tasks only.
  int tracked(TaskState state) const { return tracked_counts_[static_cast<size_t>(state)]; }
  int tracked() const { return tracked_; }
  int bound() const { return static_cast<int>(by_container_.size()); }
  int size() const { return static_cast<int>(tasks_.size()); }
  /// Names of the tasks for which `predicate` holds, e.g. {"ps:0", "worker:3"}; at most `limit`,
  /// then "and N more".
  template <typename Predicate>
  std::vector<std::string> Names(Predicate predicate, size_t limit = 16) const;

 private:
  std::vector<Task> tasks_;
  absl::flat_hash_map<std::string, size_t> by_container_;
  absl::flat_hash_map<std::string, std::set<size_t>> unbound_;  ///< by type
  absl::flat_hash_map<std::string, size_t> first_of_type_;
  std::array<int, 7> counts_{};
  std::array<int, 7> tracked_counts_{};
  int tracked_ = 0;
};

template <typename Predicate>
std::vector<std::string> TaskTable::Names(Predicate predicate, size_t limit) const {
  std::vector<std::string> names;
  size_t more = 0;
  for (const Task& task : tasks_) {
    if (!predicate(task)) continue;
    if (names.size() < limit) {
      names.push_back(task.id.ToString());
    } else {
      ++more;
    }
  }
  if (more > 0) names.push_back("and " + std::to_string(more) + " more");
  return names;
}

}  // namespace tony::core
