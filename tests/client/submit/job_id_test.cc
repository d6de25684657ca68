// Names of jobs on the local backend.
#include "client/submit/job_id.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace tony::client {
namespace {

using ::testing::EndsWith;
using ::testing::MatchesRegex;

constexpr int64_t kSomeTime = 1'795'301'343'987;  // 2026-11-21T22:49:03.987Z

// The time zone of a scope. Not thread safe.
class ScopedTimeZone {
 public:
  explicit ScopedTimeZone(const char* name) {
    ::setenv("TZ", name, 1);
    ::tzset();
  }
  ~ScopedTimeZone() {
    ::unsetenv("TZ");
    ::tzset();
  }
};

TEST(JobIdTest, SaysWhenByTheUsersClock) {
  {
    const ScopedTimeZone utc("UTC0");
    EXPECT_EQ(MakeLocalJobId(kSomeTime, 0x7f3a), "local-20261121-224903-7f3a");
  }
  const ScopedTimeZone east("EAST-2");
  EXPECT_EQ(MakeLocalJobId(kSomeTime, 0x7f3a), "local-20261122-004903-7f3a");
}

TEST(JobIdTest, TakesTheLowBitsOfTheRandomNumber) {
  EXPECT_THAT(MakeLocalJobId(kSomeTime, 0), EndsWith("-0000"));
  EXPECT_THAT(MakeLocalJobId(kSomeTime, 0xABCD0001), EndsWith("-0001"));
  EXPECT_THAT(MakeLocalJobId(kSomeTime, 0xFFFFFFFF), EndsWith("-ffff"));
}

TEST(JobIdTest, SortsByTimeAndIsFitForFilesAndCertificates) {
  const ScopedTimeZone utc("UTC0");
  const std::string early = MakeLocalJobId(kSomeTime, 0xffff);
  const std::string late = MakeLocalJobId(kSomeTime + 1000, 0);
  EXPECT_LT(early, late);
  EXPECT_THAT(early, MatchesRegex("[a-z0-9-]+"));
}

}  // namespace
}  // namespace tony::client
