// Bookkeeping of tasks.
#include "core/job/task_table.h"

namespace tony::core {

TaskTable::TaskTable(const std::vector<TaskType>& types) {
  for (const TaskType& type : types) {
    std::set<size_t>& unbound = unbound_[type.name];
    first_of_type_[type.name] = tasks_.size();
    for (int index = 0; index < type.instances; ++index) {
      unbound.insert(tasks_.size());
      Task task;
      task.id = TaskId{type.name, index};
      task.type = &type;
      if (type.tracking == Tracking::kTracked) ++tracked_;
      tasks_.push_back(std::move(task));
    }
  }
  counts_[static_cast<size_t>(TaskState::kNew)] = size();
  tracked_counts_[static_cast<size_t>(TaskState::kNew)] = tracked_;
}

Task* TaskTable::FindByContainer(const std::string& container_id) {
  auto found = by_container_.find(container_id);
  return found == by_container_.end() ? nullptr : &tasks_[found->second];
}

const Task* TaskTable::FindByContainer(const std::string& container_id) const {
  auto found = by_container_.find(container_id);
  return found == by_container_.end() ? nullptr : &tasks_[found->second];
}

Task* TaskTable::Find(const TaskId& id) {
  auto found = first_of_type_.find(id.type);
  if (found == first_of_type_.end() || id.index < 0) return nullptr;
  const size_t position = found->second + static_cast<size_t>(id.index);
  return position < tasks_.size() && tasks_[position].id == id ? &tasks_[position] : nullptr;
}

Task* TaskTable::FirstUnbound(const std::string& type) {
  auto found = unbound_.find(type);
  if (found == unbound_.end() || found->second.empty()) return nullptr;
  return &tasks_[*found->second.begin()];
}

void TaskTable::SetState(Task& task, TaskState state) {
  --counts_[static_cast<size_t>(task.state)];
  ++counts_[static_cast<size_t>(state)];
  if (task.type->tracking == Tracking::kTracked) {
    --tracked_counts_[static_cast<size_t>(task.state)];
    ++tracked_counts_[static_cast<size_t>(state)];
  }
  task.state = state;
}

void TaskTable::Bind(Task& task, const Container& container) {
  const size_t position = static_cast<size_t>(&task - tasks_.data());
  unbound_[task.id.type].erase(position);
  by_container_[container.id] = position;
  task.container = container;
  task.containment.clear();
}

void TaskTable::Unbind(Task& task) {
  const size_t position = static_cast<size_t>(&task - tasks_.data());
  by_container_.erase(task.container->id);
  unbound_[task.id.type].insert(position);
  task.container.reset();
  task.attached = false;
  task.reattach_by.reset();
  task.awaited_back = false;
  task.kept = false;
  task.killed = false;
  task.dismissed = false;
}

}  // namespace tony::core
