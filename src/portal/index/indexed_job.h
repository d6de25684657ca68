// A job as a row of the index.
#pragma once

#include <cstdint>
#include <string>

#include "history/job_entry.h"

namespace tony::portal {

/// A job as the index has it. Plain data.
struct IndexedJob {
  int64_t id = 0;        ///< the row's; another one when the index was rebuilt
  std::string location;  ///< the folder that holds `jobs/JOB`
  history::JobEntry entry;
  int64_t duration_millis = -1;  ///< from its submission to its end; -1: it has not ended
  bool alive = false;            ///< something may still happen in it
  std::string trouble;           ///< what of its history cannot be read; empty: nothing
};

/// What tells whether a job's files have changed since they were read. Plain data.
struct FileMark {
  int64_t events_bytes = -1;  ///< -1: there is no history
  int64_t events_time = 0;    ///< time of modification in nanoseconds
  int64_t events_inode = 0;
  int64_t summary_time = 0;  ///< 0: there is no summary
  bool operator==(const FileMark&) const = default;
};

/// A job that was read. Plain data.
struct ReadJob {
  IndexedJob job;
  FileMark mark;
};

}  // namespace tony::portal
