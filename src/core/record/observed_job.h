// A job's view with further facts for people: run times, and whether the job was lost.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/record/job_view.h"

namespace tony::core {

/// A JobView with the times of each task's run, and whether the job was lost. Plain data; not
/// thread safe.
struct ObservedJob {
  struct TaskTimes {
    int64_t started_millis = 0;  ///< start of the user's process in this attempt; 0: not started
    int64_t ended_millis = 0;    ///< 0 while it runs
  };

  JobView view;
  std::map<TaskId, TaskTimes> times;
  int64_t last_millis = 0;  ///< time of the newest event
  bool lost = false;        ///< set by the caller: the ApplicationMaster left without a verdict
  /// Set by the caller: a newer tony has recorded the job, so nothing else is known of it.
  bool unreadable = false;

  /// Folds one more event in; an event that was seen already changes nothing.
  void Apply(const JobEvent& event);
  /// How long the task's program has run, or ran, in milliseconds; -1 if it has not been started.
  int64_t RunningMillis(const TaskId& task, int64_t now_millis) const;
  /// How long the job has run, or ran, from its submission, in milliseconds; -1 before that.
  int64_t RunningMillis(int64_t now_millis) const;
  /// The verdict's outcome, or "UNREADABLE" or "LOST", or the name of the job's state.
  std::string StateName() const;

 private:
  /// `now_millis`, or the time at which the job ended or was lost.
  int64_t EndMillis(int64_t now_millis) const;
};

}  // namespace tony::core
