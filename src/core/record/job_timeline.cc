// A task is in one phase at a time; a change of phase closes a span and opens another.
#include "core/record/job_timeline.h"

#include <utility>
#include <variant>

namespace tony::core {
namespace {

using Phase = JobTimeline::Phase;

Phase PhaseOf(TaskState state) {
  switch (state) {
    case TaskState::kNew:
      return Phase::kQueued;
    case TaskState::kStarting:
      return Phase::kLocalizing;
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
  } else if (const auto* epoch = std::get_if<EpochOpened>(&event.body)) {
    restarts.push_back({*epoch, event.unix_millis});
    KeepAtMost(restarts, kMostRestarts);
  } else if (std::holds_alternative<JobEnded>(event.body)) {
    // Nothing lasts longer than the job.
    while (!open.empty()) Enter(open.begin()->first, std::nullopt, 0, event.unix_millis);
  }
}

void JobTimeline::OnTask(const TaskChanged& change, int64_t millis) {
  const Phase phase = PhaseOf(change.state);
  const auto last = open.find(change.task);
  const bool same = last != open.end() && last->second.phase == phase &&
                    (last->second.attempt == change.attempt || phase != Phase::kRunning);
  if (same) return;
  if (IsOver(change.state)) {
    ends.push_back({change.task, change.state, millis, change.attempt});
    KeepAtMost(ends, kMostEnds);
  }
  Enter(change.task, phase, change.attempt, millis);
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
