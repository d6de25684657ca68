// When a silence is worth a note.
#include "executor/task/silence_watch.h"

#include <gtest/gtest.h>

namespace tony::executor {
namespace {

using std::chrono::seconds;

TEST(SilenceWatchTest, ALongSilenceIsToldOnceAndSoIsItsEnd) {
  SilenceWatch watch(seconds(600));
  const TimePoint start = TimePoint() + seconds(1000);
  watch.Reset(start);
  EXPECT_FALSE(watch.OnUsage(start, 1, start + seconds(5)));
  EXPECT_FALSE(watch.OnUsage(start, 300, start + seconds(604)));
  const auto silence = watch.OnUsage(start, 301, start + seconds(605));
  ASSERT_TRUE(silence);
  EXPECT_EQ(silence->millis, 600'000);
  EXPECT_DOUBLE_EQ(silence->cpu_share, 0.5);
  EXPECT_TRUE(watch.silence());
  EXPECT_FALSE(watch.OnUsage(start, 302, start + seconds(610)));
  const auto end = watch.OnUsage(start + seconds(612), 303, start + seconds(615));
  ASSERT_TRUE(end);
  EXPECT_EQ(end->millis, 0);
  EXPECT_FALSE(watch.silence());
  EXPECT_FALSE(watch.OnUsage(start + seconds(612), 303, start + seconds(620)));
  EXPECT_TRUE(watch.OnUsage(start + seconds(612), 303, start + seconds(1215)));
}

TEST(SilenceWatchTest, NothingIsToldWhenNobodyWantsIt) {
  SilenceWatch watch(seconds(0));
  watch.Reset(TimePoint());
  EXPECT_FALSE(watch.OnUsage(TimePoint(), 1, TimePoint() + seconds(5)));
  EXPECT_FALSE(watch.OnUsage(TimePoint(), 1, TimePoint() + seconds(100'000)));
}

}  // namespace
}  // namespace tony::executor
