// A killed container's executor is not heard any more: a late message of it is answered with a
// shutdown.
#include "core/job/executors.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/job/job_parts.h"
#include "core/job/job_record.h"

namespace tony::core {

Task* Executors::Heard(const std::string& container_id) {
  Task* task = run_.tasks.FindByContainer(container_id);
  if (task == nullptr || task->killed()) {
    // The container was given up too early, or its message comes late. Its program must end.
    run_.Do(effect::SendShutdown{container_id, "the job has no use for this container"});
    return nullptr;
  }
  task->last_heard = run_.now;
  return task;
}

void Executors::Change(Task& task, BindingTrigger trigger, const Container& container) {
  const bool was_reclaimed = task.binding == Binding::kReclaimed;
  if (!run_.tasks.Change(task, trigger, container)) {
    return run_.Do(effect::ReportFault{
        absl::StrCat(task.id.ToString(), " is ", BindingName(task.binding),
                     ", where there is no edge for '", BindingTriggerName(trigger), "'")});
  }
  if (was_reclaimed && run_.tasks.count(Binding::kReclaimed) == 0 && !run_.verdict)
    parts_.record.RecordContinues("The executors are attached again");
}

void Executors::Request(Task& task) { Change(task, BindingTrigger::kRequest); }

void Executors::CancelRequests() {
  for (Task& task : run_.tasks.all()) {
    if (task.asked()) Change(task, BindingTrigger::kCancel);
  }
}

void Executors::Bind(Task& task, const Container& container) {
  Change(task, BindingTrigger::kGrant, container);
  // What is known of the executor was that of the container before.
  task.containment.clear();
  task.attached_at.reset();
}

void Executors::Unbind(Task& task) { Change(task, BindingTrigger::kGone); }

void Executors::Attach(Task& task) { Change(task, BindingTrigger::kAttach); }

void Executors::Detach(Task& task) {
  Change(task, BindingTrigger::kDetach);
  task.reattach_by = run_.now + run_.job.timeouts.reconnect;
}

void Executors::Reclaim(Task& task) {
  Change(task, BindingTrigger::kMasterRestarted);
  task.reattach_by = run_.now + run_.job.timeouts.reattach;
}

void Executors::Ignore(Task& task) {
  task.killed_at = run_.now;
  run_.members_changed = true;
  Change(task, BindingTrigger::kKill);
}

void Executors::Kill(Task& task) {
  Ignore(task);
  run_.Do(effect::KillContainer{task.container->id});
}

void Executors::Dismiss(Task& task, const std::string& why, bool keep_stacks) {
  Change(task, BindingTrigger::kDismiss);
  run_.Do(effect::SendShutdown{task.container->id, why, keep_stacks});
}

void Executors::SendStart(std::vector<std::string> container_ids) {
  for (const std::string& id : container_ids) {
    Task* task = run_.tasks.FindByContainer(id);
    if (task != nullptr) task->started_attempt = task->attempt;
  }
  run_.Do(effect::SendStart{std::move(container_ids), run_.epoch, run_.spec, run_.plan});
}

}  // namespace tony::core
