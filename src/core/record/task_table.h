// The job's tasks, found by name or by container, with counts by state, by type and by gang.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "common/clock.h"
#include "core/model/job_description.h"
#include "core/model/task_id.h"
#include "core/ports/cluster_backend.h"
#include "core/record/job_event.h"
#include "core/tasks/binding.h"
#include "core/tasks/job_state.h"
#include "core/tasks/task_exit.h"
#include "core/tasks/task_names.h"

namespace tony::core {

/// The tasks of one type, counted.
struct TypeCounts {
  Tracking tracking = Tracking::kTracked;  ///< untracked once the job no longer waits for the type
  int size = 0;
  int bound = 0;   ///< tasks with a container
  int listed = 0;  ///< tasks whose address of this epoch is in the cluster spec
  int over = 0;    ///< tasks whose run has ended
  int succeeded = 0;

  bool complete() const { return tracking == Tracking::kTracked && succeeded == size; }
};

/// Tasks that start together, when all of them have registered.
struct Gang {
  int size = 0;
  int bound = 0;  ///< tasks with a container
  int ready = 0;
  TimePoint since;       ///< time at which it was formed, or got its last container
  TimePoint not_before;  ///< earliest start
  std::optional<TimePoint> incomplete_since;   ///< since it has some containers; never all so far
  std::optional<TimePoint> partly_held_since;  ///< set while it has some containers, not all
  TimePoint ask_after;            ///< end of the pause after it gave its containers back
  bool missing_recorded = false;  ///< its missing tasks were recorded
  bool delay_recorded = false;    ///< its earliest start was recorded
};

/// One task within the current epoch, with the container it is bound to.
struct Task {
  TaskId id;
  const TaskType* type = nullptr;
  const TypeCounts* fellows = nullptr;  ///< counts of its type
  TaskState state = TaskState::kNew;
  TimePoint since;  ///< time of the newest change of state
  int attempt = 0;  ///< starts, including the one being prepared; 0 before the first container
  Binding binding = Binding::kFree;
  std::optional<Container> container;  ///< the container it is bound to
  std::string containment;             ///< containment of the container's executor
  std::string boot_id;                 ///< boot id of its machine; empty: not known
  /// When the executor of a new container attached, until it has registered.
  std::optional<TimePoint> attached_at;
  bool kept = false;    ///< the container is older than this epoch, or than this ApplicationMaster
  TimePoint killed_at;  ///< time of the newest kill
  TimePoint waiting_since;  ///< time of the grant, or of the new epoch when kept
  TimePoint last_heard;     ///< time of its executor's newest message
  TimePoint reattach_by;    ///< deadline for the executor to attach again; valid while awaited()
  int port = 0;
  int visualization_port = 0;
  /// Whether something listens on visualization_port, as the record says. nullopt: an earlier
  /// ApplicationMaster recorded it.
  std::optional<bool> shows = false;
  int64_t pid = 0;
  std::optional<TaskExit> exit;          ///< set in kFailed and kSucceeded
  std::optional<TaskMeasured> measured;  ///< newest measurement of the current run
  int gang = 0;                          ///< number of the gang that it starts with; 0: none
  int started_attempt = 0;               ///< attempt that this ApplicationMaster told to start
  bool listed = false;                   ///< its address of this epoch is in the cluster spec
  std::string stranger;                  ///< process that took one of its ports; empty: none

  Tracking tracking() const { return fellows->tracking; }
  bool asked() const { return binding == Binding::kRequested; }
  bool attached() const { return IsAttached(binding); }
  bool awaited() const { return IsAwaited(binding); }
  bool killed() const { return binding == Binding::kKilled; }
  /// True while it waits for its first start in this epoch.
  bool gathering() const { return gang != 0 && !listed; }
  /// True when its run in this epoch has ended.
  bool over() const { return IsOver(state); }
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
  const Task* Find(const TaskId& id) const;
  /// The first task of `type` for which a container is asked; null when there is none.
  Task* FirstAsked(const std::string& type);

  void SetState(Task& task, TaskState state);
  /// Moves the task's binding along the edge that `trigger` names, and keeps the indexes by request
  /// and by container. False, and no change, when the table has no such edge. `container` belongs
  /// to kGrant alone.
  bool Change(Task& task, BindingTrigger trigger, const Container& container = {});
  /// 0 takes the task out of its gang. A gang exists as long as it has members.
  void SetGang(Task& task, int number);
  void SetListed(Task& task, bool listed);
  /// Counts the tasks of `type` as untracked from here on.
  void StopTracking(const std::string& type);

  int count(TaskState state) const { return counts_[static_cast<size_t>(state)]; }
  int count(Binding binding) const { return bindings_[static_cast<size_t>(binding)]; }
  /// The number of tracked tasks in this state.
  int tracked(TaskState state) const { return tracked_counts_[static_cast<size_t>(state)]; }
  int tracked() const;
  /// How many times a container was unbound: whoever remembers containers looks for gone ones when
  /// it changes.
  int64_t unbound() const { return unbound_; }
  int bound() const { return static_cast<int>(by_container_.size()); }
  int size() const { return static_cast<int>(tasks_.size()); }
  /// The counts of one of the job's types.
  const TypeCounts& of(const std::string& type) const { return types_.at(type); }
  /// The gangs by number. The caller sets times and marks, and never the counts.
  std::map<int, Gang>& gangs() { return gangs_; }
  const std::map<int, Gang>& gangs() const { return gangs_; }
  /// The names of the tasks for which `predicate` holds; see TaskNames().
  template <typename Predicate>
  std::vector<std::string> Names(Predicate predicate, size_t limit = kMostTaskNames) const {
    return TaskNames(tasks_, predicate, limit);
  }

 private:
  /// Adds the task to all counts, or with -1 takes it out.
  void Count(const Task& task, int sign);
  /// Applies a change to a counted property.
  template <typename Function>
  void Recount(Task& task, Function change) {
    Count(task, -1);
    change();
    Count(task, 1);
  }

  std::vector<Task> tasks_;
  absl::flat_hash_map<std::string, size_t> by_container_;
  int64_t unbound_ = 0;
  absl::flat_hash_map<std::string, std::set<size_t>> asked_;  ///< by type
  absl::flat_hash_map<std::string, size_t> first_of_type_;
  std::map<std::string, TypeCounts> types_;  ///< tasks point into it
  std::map<int, Gang> gangs_;
  std::array<int, 7> counts_{};
  std::array<int, 7> tracked_counts_{};
  std::array<int, kBindings> bindings_{};
};

}  // namespace tony::core
