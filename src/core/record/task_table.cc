// Every change takes the task out of all counts, changes it and counts it again, so the counts
// cannot drift from the tasks.
#include "core/record/task_table.h"

#include <utility>

#include <numeric>

namespace tony::core {

TaskTable::TaskTable(const std::vector<TaskType>& types) {
  for (const TaskType& type : types) {
    TypeCounts& fellows = types_[type.name];
    fellows.tracking = type.tracking;
    fellows.size = type.instances;
    first_of_type_[type.name] = tasks_.size();
    for (int index = 0; index < type.instances; ++index) {
      Task task;
      task.id = TaskId{type.name, index};
      task.type = &type;
      task.fellows = &fellows;
      tasks_.push_back(std::move(task));
      Count(tasks_.back(), 1);
    }
  }
}

void TaskTable::Count(const Task& task, int sign) {
  const auto state = static_cast<size_t>(task.state);
  counts_[state] += sign;
  bindings_[static_cast<size_t>(task.binding)] += sign;
  if (task.tracking() == Tracking::kTracked) tracked_counts_[state] += sign;
  TypeCounts& fellows = types_.at(task.id.type);
  if (task.container) fellows.bound += sign;
  if (task.listed) fellows.listed += sign;
  if (task.over()) fellows.over += sign;
  if (task.state == TaskState::kSucceeded) fellows.succeeded += sign;
  if (task.gang == 0) return;
  Gang& gang = gangs_[task.gang];
  gang.size += sign;
  if (task.container) gang.bound += sign;
  if (task.state == TaskState::kReady) gang.ready += sign;
}

Task* TaskTable::FindByContainer(const std::string& container_id) {
  auto found = by_container_.find(container_id);
  return found == by_container_.end() ? nullptr : &tasks_[found->second];
}

const Task* TaskTable::FindByContainer(const std::string& container_id) const {
  auto found = by_container_.find(container_id);
  return found == by_container_.end() ? nullptr : &tasks_[found->second];
}

const Task* TaskTable::Find(const TaskId& id) const {
  auto found = first_of_type_.find(id.type);
  if (found == first_of_type_.end() || id.index < 0) return nullptr;
  const size_t position = found->second + static_cast<size_t>(id.index);
  return position < tasks_.size() && tasks_[position].id == id ? &tasks_[position] : nullptr;
}

Task* TaskTable::Find(const TaskId& id) { return const_cast<Task*>(std::as_const(*this).Find(id)); }

Task* TaskTable::FirstAsked(const std::string& type) {
  auto found = asked_.find(type);
  if (found == asked_.end() || found->second.empty()) return nullptr;
  return &tasks_[*found->second.begin()];
}

void TaskTable::SetState(Task& task, TaskState state) {
  Recount(task, [&] { task.state = state; });
}

bool TaskTable::Change(Task& task, BindingTrigger trigger, const Container& container) {
  const std::optional<Binding> next = NextBinding(task.binding, trigger);
  if (!next) return false;
  const size_t position = static_cast<size_t>(&task - tasks_.data());
  if (task.asked()) asked_[task.id.type].erase(position);
  if (trigger == BindingTrigger::kGone) {
    by_container_.erase(task.container->id);
    ++unbound_;
  }
  Recount(task, [&] {
    task.binding = *next;
    if (trigger == BindingTrigger::kGrant) task.container = container;
    if (trigger == BindingTrigger::kGone) task.container.reset();
  });
  if (task.asked()) asked_[task.id.type].insert(position);
  if (trigger == BindingTrigger::kGrant) {
    by_container_[container.id] = position;
    task.containment.clear();
  }
  if (trigger == BindingTrigger::kGone) task.kept = false;
  return true;
}

// A gang without members is erased: only a gang that exists can wait for anything.
void TaskTable::SetGang(Task& task, int number) {
  const int left = task.gang;
  Recount(task, [&] { task.gang = number; });
  if (left != 0 && gangs_[left].size == 0) gangs_.erase(left);
}

void TaskTable::SetListed(Task& task, bool listed) {
  Recount(task, [&] { task.listed = listed; });
}

void TaskTable::StopTracking(const std::string& type) {
  // Tracking is shared by the type's tasks, so all of them leave the counts before it changes.
  for (Task& task : tasks_) {
    if (task.id.type == type) Count(task, -1);
  }
  types_.at(type).tracking = Tracking::kUntracked;
  for (Task& task : tasks_) {
    if (task.id.type == type) Count(task, 1);
  }
}

int TaskTable::tracked() const {
  return std::accumulate(tracked_counts_.begin(), tracked_counts_.end(), 0);
}

}  // namespace tony::core
