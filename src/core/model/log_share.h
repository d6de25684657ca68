// The share of a job's log space for one stream of one attempt of a task.
#pragma once

#include <cstdint>

#include "core/model/job_description.h"

namespace tony::core {

/// Sizes in bytes.
struct LogShare {
  int64_t segment = 0;  ///< size of one file; at most a quarter of `total`, to keep start and end
  int64_t total = 0;    ///< size of all files of the stream

  bool operator==(const LogShare&) const = default;
};

/// The smaller of LogPolicy::stream_mb and an even share of LogPolicy::job_mb among all tasks,
/// their possible attempts (retry_count and the first) and two streams; at least 1 MiB. Even shares
/// need no supervisor over the job, on whatever hosts its tasks run.
LogShare ShareOfOneStream(const JobDescription& job);

}  // namespace tony::core
