// The share of a job's log space for one stream of one attempt of a task.
#pragma once

#include <cstdint>

#include "core/model/job_description.h"

namespace tony::core {

/// Sizes in bytes.
struct LogShare {
  /// Size of one file. At most a quarter of `total`, so that the first and the last files remain
  /// when files between them are dropped.
  int64_t segment = 0;
  int64_t total = 0;  ///< size of all files of the stream

  bool operator==(const LogShare&) const = default;
};

/// The smaller of LogPolicy::stream_mb and an even share of LogPolicy::job_mb among all tasks,
/// their possible attempts (the first, retry_count and infrastructure_retry_count more) and two
/// streams; at least 1 MiB. The shares are fixed before the job starts, so its hosts need not agree
/// on how much each has written.
LogShare ShareOfOneStream(const JobDescription& job);

}  // namespace tony::core
