// Notes that all tasks of a job have become silent: the job may hang.
#pragma once

#include <map>

#include "core/job/job_input.h"
#include "core/job/job_run.h"

namespace tony::core {

/// Keeps which tasks have printed nothing for tony.task.silence-note, as their executors say. A
/// note is recorded when that is true of every tracked task that runs, and again only after one of
/// them has printed something. Not thread safe: owned by the state machine.
class SilenceNotes {
 public:
  explicit SilenceNotes(JobRun& run) : run_(run) {}

  void On(const Task& task, const input::TaskSilent& silent);

 private:
  struct Silence {
    int attempt = 0;  ///< of the task
    int64_t silent_millis = 0;
    double cpu_share = 0;
  };

  /// Null when the present run of the task is not known to be silent.
  const Silence* SilenceOf(const Task& task) const;
  void RecordIfAllAreSilent();

  JobRun& run_;
  std::map<TaskId, Silence> silences_;  ///< of at most one run of each task
  bool noted_ = false;
};

}  // namespace tony::core
