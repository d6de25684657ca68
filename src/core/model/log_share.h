// How much of a job's room for logs one stream of one attempt of a task gets.
#pragma once

#include <cstdint>

#include "core/model/job_description.h"

namespace tony::core {

/// Bytes.
struct LogShare {
  int64_t segment = 0;  ///< one file; at most a quarter of `total`, so that start and end have room
  int64_t total = 0;    ///< all files of the stream

  bool operator==(const LogShare&) const = default;
};

/// The smaller of LogPolicy::stream_mb and an even share of LogPolicy::job_mb among all tasks, the
/// attempts that they may make (retry_count and the first) and two streams; at least 1 MiB. Even
/// shares need nobody who watches over the job, on whatever hosts its tasks run.
LogShare ShareOfOneStream(const JobDescription& job);

}  // namespace tony::core
