// Room for logs is divided so that all shares together keep to the job's limit.
#include "core/model/log_share.h"

#include <gtest/gtest.h>

namespace tony::core {
namespace {

constexpr int64_t kMiB = 1 << 20;

JobDescription Job(int workers, int servers, int retries) {
  JobDescription job;
  TaskType worker;
  worker.instances = workers;
  TaskType server;
  server.instances = servers;
  job.types = {worker, server};
  job.retry_count = retries;
  job.infrastructure_retry_count = 0;
  return job;
}

TEST(LogShare, ASmallJobIsLimitedByTheStream) {
  EXPECT_EQ(ShareOfOneStream(Job(1, 0, 0)), (LogShare{256 * kMiB, 2048 * kMiB}));
  EXPECT_EQ(ShareOfOneStream({}), (LogShare{256 * kMiB, 2048 * kMiB}));
}

TEST(LogShare, ALargeJobDividesItsOwnLimit) {
  JobDescription job = Job(60, 4, 1);
  job.logs.job_mb = 64 * 2 * 2 * 100;
  EXPECT_EQ(ShareOfOneStream(job), (LogShare{25 * kMiB, 100 * kMiB}));
  job.infrastructure_retry_count = 2;  // a lost container's successor writes a log as well
  EXPECT_EQ(ShareOfOneStream(job), (LogShare{12 * kMiB + kMiB / 2, 50 * kMiB}));
}

TEST(LogShare, EveryStreamHasAnEndAndAStart) {
  EXPECT_EQ(ShareOfOneStream(Job(10'000, 0, 1'000'000)), (LogShare{kMiB / 4, kMiB}));
  JobDescription job = Job(1, 0, 0);
  job.logs.rotate_mb = 4096;
  job.logs.stream_mb = 8;
  EXPECT_EQ(ShareOfOneStream(job), (LogShare{2 * kMiB, 8 * kMiB}));
}

}  // namespace
}  // namespace tony::core
