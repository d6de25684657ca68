// A killed container's executor is not heard any more: a late message of it is answered with a
// shutdown.
#include "core/job/executors.h"

#include <algorithm>
#include <utility>

#include "core/job/job_parts.h"
#include "core/job/job_record.h"

namespace tony::core {

Task* Executors::Heard(const std::string& container_id) {
  Task* task = run_.tasks.FindByContainer(container_id);
  if (task == nullptr || task->killed) {
    // The container was given up too early, or its message comes late. Its program must end.
    run_.Do(effect::SendShutdown{container_id, "the job has no use for this container"});
    return nullptr;
  }
  task->last_heard = run_.now;
  return task;
}

void Executors::Kill(Task& task) {
  task.killed = true;
  task.killed_at = run_.now;
  run_.members_changed = true;
  task.attached = false;
  NoLongerAwaited(task);
  run_.Do(effect::KillContainer{task.container->id});
}

void Executors::Dismiss(Task& task, const std::string& why) {
  task.dismissed = true;
  run_.Do(effect::SendShutdown{task.container->id, why});
}

void Executors::SendStart(std::vector<std::string> container_ids) {
  for (const std::string& id : container_ids) {
    Task* task = run_.tasks.FindByContainer(id);
    if (task != nullptr) task->told_to_start = task->attempt;
  }
  run_.Do(effect::SendStart{std::move(container_ids), run_.epoch, run_.spec, run_.plan});
}

void Executors::NoLongerAwaited(Task& task) {
  task.reattach_by.reset();
  if (!std::exchange(task.awaited_back, false) || --awaited_back_ > 0 || run_.verdict) return;
  parts_.record.SayGoesOn("The executors are attached again");
}

}  // namespace tony::core
