// A fold with one handler per kind of event; positions of tasks follow from their types, without a
// search.
#include "core/record/job_view.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/record/duration_text.h"

namespace tony::core {
namespace {

/// The task's index in the view, whose tasks stand in the order of the types; nullopt for an
/// unknown task.
std::optional<size_t> PositionOf(const JobView& view, const TaskId& id) {
  size_t first = 0;
  for (const JobSubmitted::Type& type : view.job.types) {
    if (type.name == id.type) {
      if (id.index < 0 || id.index >= type.instances) return std::nullopt;
      return first + static_cast<size_t>(id.index);
    }
    first += static_cast<size_t>(std::max(0, type.instances));
  }
  return std::nullopt;
}

JobView::Task* FindMutable(JobView& view, const TaskId& id) {
  const std::optional<size_t> position = PositionOf(view, id);
  return position ? &view.tasks[*position] : nullptr;
}

/// Applies each kind of event to the view.
struct Folder {
  JobView& view;
  int64_t unix_millis;

  void operator()(const JobSubmitted& event) {
    view.job = event;
    view.submitted_millis = unix_millis;
    view.tasks.clear();
    for (const JobSubmitted::Type& type : event.types) {
      for (int index = 0; index < type.instances; ++index) {
        JobView::Task task;
        task.last.task = TaskId{type.name, index};
        view.tasks.push_back(std::move(task));
      }
    }
  }
  void operator()(const JobStateChanged& event) {
    view.state = event.state;
    view.epoch = event.epoch;
    view.state_since_millis = unix_millis;
    view.waiting.reset();
    if (event.state == JobState::kRunning && view.attempt_began_millis == 0) {
      view.attempt_began_millis = unix_millis;
    }
  }
  void operator()(const JobWaiting& event) {
    if (!view.waiting || view.waiting->what != event.what) view.waiting_since_millis = unix_millis;
    view.waiting = event;
  }
  void operator()(const TaskChanged& event) {
    JobView::Task* task = FindMutable(view, event.task);
    if (task == nullptr) return;
    // Another attempt begins, so the old measurement is no longer true.
    if (event.attempt != task->last.attempt) task->usage.reset();
    task->last = event;
    if (event.state != TaskState::kRunning && view.visualization &&
        view.visualization->task == event.task) {
      view.visualization.reset();
    }
  }
  void operator()(const EpochOpened& event) {
    AddAttempt(event);
    view.epoch = event.epoch;
    // The page and the measurements belong to processes that end now.
    view.visualization.reset();
    for (JobView::Task& task : view.tasks) task.usage.reset();
  }
  void AddAttempt(const EpochOpened& event) {
    JobView::Attempt attempt{.number = event.epoch,
                             .began_millis = std::exchange(view.attempt_began_millis, 0),
                             .ended_millis = unix_millis,
                             .cause = event.cause,
                             .guilty = event.guilty,
                             .error = event.error};
    if (view.attempts.size() >= JobView::kMostAttempts) view.attempts.erase(view.attempts.begin());
    view.attempts.push_back(std::move(attempt));
  }
  void operator()(const VisualizationReady& event) {
    if (!event.url.empty()) {
      view.visualization = event;
    } else if (view.visualization && view.visualization->task == event.task) {
      view.visualization.reset();
    }
  }
  void operator()(const TaskMeasured& event) {
    if (JobView::Task* task = FindMutable(view, event.task)) task->usage = event.usage;
  }
  void operator()(const MasterRestarted& event) { view.incarnation = event.incarnation; }
  void operator()(const JobNote& event) { view.notes.push_back(event.sentence); }
  void operator()(const JobEnded& event) {
    view.state = JobState::kEnded;
    view.state_since_millis = unix_millis;
    view.verdict = event.verdict;
    view.ended_millis = unix_millis;
    view.waiting.reset();
    view.visualization.reset();
  }
};

}  // namespace

std::string JobView::Attempt::Describe() const {
  const bool told = error.empty() || absl::StrContains(cause, error);
  return absl::StrCat(
      "attempt ", number,
      began_millis == 0 ? "" : absl::StrCat(", ", FormatDuration(ended_millis - began_millis)),
      ": ", cause, told ? "" : absl::StrCat(", ", error));
}

void JobView::Apply(const JobEvent& event) {
  if (event.sequence <= last_sequence) return;
  last_sequence = event.sequence;
  std::visit(Folder{*this, event.unix_millis}, event.body);
}

void JobView::Measure(const TaskMeasured& measured) {
  Task* task = FindMutable(*this, measured.task);
  if (task == nullptr || task->last.state != TaskState::kRunning) return;
  if (task->last.attempt == measured.attempt) task->usage = measured.usage;
}

const JobView::Task* JobView::FindTask(const TaskId& id) const {
  const std::optional<size_t> position = PositionOf(*this, id);
  return position ? &tasks[*position] : nullptr;
}

}  // namespace tony::core
