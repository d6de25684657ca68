// The phases of each task's runs, folded from a job's events, for charts over time.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "core/record/job_event.h"

namespace tony::core {

/// Has as many spans as a chart can use, however often a job restarts: the oldest give way. Plain
/// data; not thread safe.
struct JobTimeline {
  enum class Phase {
    kQueued,       ///< no container yet
    kLocalizing,   ///< has a container, in which its executor is not there yet
    kRegistering,  ///< its executor unpacks and reserves ports
    kBarrier,      ///< registered, waits for the others
    kRunning,      ///< the user's process runs
    kGone,         ///< the process has ended, and another run has not begun
  };
  struct Span {
    TaskId task;
    Phase phase = Phase::kQueued;
    int64_t begin_millis = 0;
    int64_t end_millis = 0;  ///< 0: it lasts
    int attempt = 0;         ///< of the task; 0: before its first
  };
  /// The end of a run.
  struct End {
    TaskId task;
    TaskState state = TaskState::kStopped;
    int64_t millis = 0;
    int attempt = 0;
  };
  /// When a run's program named its first step.
  struct FirstStep {
    TaskId task;
    int64_t millis = 0;
    int attempt = 0;
  };
  /// A restart of the whole job.
  struct Restart {
    EpochOpened epoch;
    int64_t millis = 0;
  };
  static constexpr size_t kMostSpans = 65'536;
  static constexpr size_t kMostEnds = 16'384;
  static constexpr size_t kMostFirstSteps = 16'384;
  static constexpr size_t kMostRestarts = 100;

  std::deque<Span> closed;      ///< by their ends
  std::map<TaskId, Span> open;  ///< those that last
  std::deque<End> ends;
  std::deque<FirstStep> first_steps;
  std::deque<Restart> restarts;
  int64_t dropped = 0;  ///< spans that are not kept
  int64_t begin_millis = 0;
  int64_t last_sequence = 0;

  /// Folds one more event in; an event that was seen already changes nothing.
  void Apply(const JobEvent& event);
  /// Takes the first step from a measurement of a running task, which was made or has arrived at
  /// `unix_millis`. What is known of the run already stays. A time outside the run is not believed:
  /// earlier versions recorded the clocks of hosts.
  void Measure(const TaskMeasured& measured, int64_t unix_millis);

 private:
  void Enter(const TaskId& task, std::optional<Phase> phase, int attempt, int64_t millis);
  void OnTask(const TaskChanged& change, int64_t millis);
  void SplitRegistering(const TaskChanged& change, int64_t millis);

  std::map<TaskId, int> stepped_;  ///< attempt of the newest run whose first step is known
};

/// "queued", "localizing", "registering", "barrier", "running", "gone".
std::string PhaseName(JobTimeline::Phase phase);

}  // namespace tony::core
