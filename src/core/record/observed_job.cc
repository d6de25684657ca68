// Adds the times of tasks to a JobView; a task's times start again with each of its runs.
#include "core/record/observed_job.h"

#include <variant>

namespace tony::core {

void ObservedJob::Apply(const JobEvent& event) {
  if (event.sequence <= view.last_sequence) return;
  view.Apply(event);
  last_millis = event.unix_millis;
  const auto* change = std::get_if<TaskChanged>(&event.body);
  if (change == nullptr) return;
  if (change->state == TaskState::kRunning) {
    TaskTimes& task = times[change->task];
    if (task.started_millis == 0 || task.ended_millis != 0) task = TaskTimes{event.unix_millis, 0};
  } else if (IsOver(change->state)) {
    TaskTimes& task = times[change->task];
    if (task.ended_millis == 0) task.ended_millis = event.unix_millis;
  } else {
    times.erase(change->task);
  }
}

int64_t ObservedJob::RunningMillis(const TaskId& task, int64_t now_millis) const {
  auto found = times.find(task);
  if (found == times.end() || found->second.started_millis == 0) return -1;
  const int64_t ended = found->second.ended_millis;
  return (ended != 0 ? ended : EndMillis(now_millis)) - found->second.started_millis;
}

int64_t ObservedJob::RunningMillis(int64_t now_millis) const {
  return view.submitted_millis == 0 ? -1 : EndMillis(now_millis) - view.submitted_millis;
}

std::string ObservedJob::StateName() const {
  if (view.verdict) return OutcomeName(view.verdict->outcome);
  if (unreadable) return "UNREADABLE";
  return lost ? "LOST" : JobStateName(view.state);
}

int64_t ObservedJob::EndMillis(int64_t now_millis) const {
  if (view.ended_millis != 0) return view.ended_millis;
  return lost ? last_millis : now_millis;
}

}  // namespace tony::core
