// What of a job has changed since when, for those who show it and want only the news.
#pragma once

#include <cstdint>
#include <map>

#include "core/record/job_event.h"

namespace tony::web {

/// Numbers the changes of a job. Plain data; not thread safe.
struct JobChanges {
  struct Task {
    int64_t version = 0;   ///< of its newest change or measurement
    int64_t sequence = 0;  ///< of its newest event
  };

  int64_t version = 0;      ///< of the newest change
  int64_t job_version = 0;  ///< of the newest change of the job as a whole
  std::map<core::TaskId, Task> tasks;

  void OnEvent(const core::JobEvent& event);
  void OnMeasurement(const core::TaskId& task);
};

}  // namespace tony::web
