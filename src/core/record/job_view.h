// The state of a job as a person sees it, folded from its events: for the terminal, `tony status`
// and pages.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/record/job_event.h"

namespace tony::core {

/// State after a prefix of a job's events. Plain data; not thread safe.
struct JobView {
  struct Task {
    TaskChanged last;  ///< the newest change
    std::optional<TaskUsage> usage;
  };

  /// A common run of the job's tasks that failed and was followed by another.
  struct Attempt {
    int number = 0;            ///< from 1
    int64_t began_millis = 0;  ///< start of the tasks' programs; 0: they were not all started
    int64_t ended_millis = 0;  ///< time at which the next attempt began
    std::string cause;         ///< "worker:1 exited with code 1"
    std::optional<TaskId> guilty;
    std::string error;  ///< the exception that the guilty task printed last; empty: none

    /// "attempt 1, 1.1s: worker:1 exited with code 1, RuntimeError: bad batch 17"
    std::string Describe() const;
  };
  /// Attempts that are kept; earlier ones are forgotten.
  static constexpr size_t kMostAttempts = 100;

  JobSubmitted job;
  JobState state = JobState::kNew;
  int epoch = 0;
  int incarnation = 1;  ///< incarnation of the ApplicationMaster
  int64_t submitted_millis = 0;
  int64_t state_since_millis = 0;
  int64_t ended_millis = 0;           ///< 0 while the job lives
  std::optional<JobWaiting> waiting;  ///< set only while the job waits
  int64_t waiting_since_millis = 0;
  std::optional<VisualizationReady> visualization;  ///< set only while something listens there
  std::vector<Attempt> attempts;                    ///< the earlier ones, oldest first
  int64_t attempt_began_millis = 0;  ///< as Attempt::began_millis, of the present attempt
  std::vector<std::string> notes;
  std::vector<Task> tasks;         ///< in the order of the job's types, then by index
  std::optional<Verdict> verdict;  ///< set by the last event
  int64_t last_sequence = 0;

  /// Folds one more event in. Events that were seen already (by sequence) change nothing.
  void Apply(const JobEvent& event);
  /// Takes in the newest measurement of a running task; a measurement of another attempt changes
  /// nothing.
  void Measure(const TaskMeasured& measured);
  /// Null when the job has no such task.
  const Task* FindTask(const TaskId& id) const;
};

}  // namespace tony::core
