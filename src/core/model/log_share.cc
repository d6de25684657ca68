// A fixed even division of the job's log limit, known before any task starts.
#include "core/model/log_share.h"

#include <algorithm>

namespace tony::core {
namespace {

constexpr int64_t kMiB = 1 << 20;
constexpr int64_t kStreams = 2;  // stdout and stderr

}  // namespace

LogShare ShareOfOneStream(const JobDescription& job) {
  const int64_t attempts = int64_t{job.retry_count} + job.infrastructure_retry_count + 1;
  const int64_t shares = std::max<int64_t>(1, job.CountTasks()) * attempts * kStreams;
  LogShare share;
  share.total =
      std::max(kMiB, std::min(job.logs.stream_mb * kMiB, job.logs.job_mb * kMiB / shares));
  share.segment = std::min(job.logs.rotate_mb * kMiB, share.total / 4);
  return share;
}

}  // namespace tony::core
