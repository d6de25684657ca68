// A task is in one phase at a time; a change of phase closes a span and opens another.
#include "core/record/job_timeline.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "core/tasks/arrival_dates.h"

namespace tony::core {
namespace {

using Phase = JobTimeline::Phase;

Phase PhaseOf(const TaskChanged& change) {
  switch (change.state) {
    case TaskState::kNew:
      return Phase::kQueued;
    case TaskState::kStarting:
      // An executor says when it attaches how it contains its program. It is there already where a
      // run begins anew in its container.
      return change.containment.empty() ? Phase::kLocalizing : Phase::kRegistering;
    case TaskState::kReady:
      return Phase::kBarrier;
    case TaskState::kRunning:
      return Phase::kRunning;
    case TaskState::kSucceeded:
    case TaskState::kFailed:
    case TaskState::kStopped:
      return Phase::kGone;
  }
  return Phase::kQueued;
}

template <typename Items>
size_t KeepAtMost(Items& items, size_t most) {
  size_t dropped = 0;
  for (; items.size() > most; ++dropped) items.pop_front();
  return dropped;
}

}  // namespace

void JobTimeline::Apply(const JobEvent& event) {
  if (event.sequence <= last_sequence) return;
  last_sequence = event.sequence;
  if (const auto* submitted = std::get_if<JobSubmitted>(&event.body)) {
    begin_millis = event.unix_millis;
    for (const JobSubmitted::Type& type : submitted->types) {
      for (int index = 0; index < type.instances; ++index) {
        Enter({type.name, index}, Phase::kQueued, 0, event.unix_millis);
      }
    }
  } else if (const auto* change = std::get_if<TaskChanged>(&event.body)) {
    OnTask(*change, event.unix_millis);
  } else if (const auto* measured = std::get_if<TaskMeasured>(&event.body)) {
    Measure(*measured, event.unix_millis);
  } else if (const auto* epoch = std::get_if<EpochOpened>(&event.body)) {
    restarts.push_back({*epoch, event.unix_millis});
    KeepAtMost(restarts, kMostRestarts);
  } else if (std::holds_alternative<JobEnded>(event.body)) {
    // Nothing lasts longer than the job.
    while (!open.empty()) Enter(open.begin()->first, std::nullopt, 0, event.unix_millis);
  }
}

void JobTimeline::OnTask(const TaskChanged& change, int64_t millis) {
  const Phase phase = PhaseOf(change);
  const auto last = open.find(change.task);
  const bool same = last != open.end() && last->second.phase == phase &&
                    (last->second.attempt == change.attempt || phase != Phase::kRunning);
  if (same) return;
  if (IsOver(change.state)) {
    ends.push_back({change.task, change.state, millis, change.attempt});
    KeepAtMost(ends, kMostEnds);
  }
  if (phase == Phase::kBarrier) SplitRegistering(change, millis);
  Enter(change.task, phase, change.attempt, millis);
}

// That an executor has attached is no event of its own: each task would have one more. The task's
// registration tells of it.
void JobTimeline::SplitRegistering(const TaskChanged& change, int64_t millis) {
  const auto last = open.find(change.task);
  if (change.registering_millis <= 0 || last == open.end() ||
      last->second.phase != Phase::kLocalizing) {
    return;
  }
  const int64_t attached = std::max(last->second.begin_millis, millis - change.registering_millis);
  Enter(change.task, Phase::kRegistering, change.attempt, attached);
}

void JobTimeline::Measure(const TaskMeasured& measured, int64_t unix_millis) {
  if (!measured.usage.progress) return;
  const int64_t first = measured.usage.progress->first_step_millis;
  const auto run = open.find(measured.task);
  if (first <= 0 || run == open.end() || run->second.phase != Phase::kRunning ||
      run->second.attempt != measured.attempt) {
    return;
  }
  int& stepped = stepped_[measured.task];
  if (stepped == measured.attempt || first + kProgressToleranceMillis < run->second.begin_millis ||
      first > unix_millis + kProgressToleranceMillis) {
    return;
  }
  stepped = measured.attempt;
  const int64_t millis =
      std::clamp(first, run->second.begin_millis, std::max(run->second.begin_millis, unix_millis));
  first_steps.push_back({measured.task, millis, measured.attempt});
  KeepAtMost(first_steps, kMostFirstSteps);
}

void JobTimeline::Enter(const TaskId& task, std::optional<Phase> phase, int attempt,
                        int64_t millis) {
  const auto last = open.find(task);
  if (last != open.end()) {
    Span span = std::move(last->second);
    open.erase(last);
    span.end_millis = millis;
    // A phase without a duration says nothing.
    if (span.end_millis > span.begin_millis) closed.push_back(std::move(span));
    dropped += static_cast<int64_t>(KeepAtMost(closed, kMostSpans));
  }
  if (phase) open[task] = Span{task, *phase, millis, 0, attempt};
}

std::string PhaseName(Phase phase) {
  switch (phase) {
    case Phase::kQueued:
      return "queued";
    case Phase::kLocalizing:
      return "localizing";
    case Phase::kRegistering:
      return "registering";
    case Phase::kBarrier:
      return "barrier";
    case Phase::kRunning:
      return "running";
    case Phase::kGone:
      return "gone";
  }
  return "unknown";
}

}  // namespace tony::core
