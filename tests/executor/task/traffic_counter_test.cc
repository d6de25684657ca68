// Connections that come and go between samples.
#include "executor/task/traffic_counter.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tony::executor {
namespace {

TEST(TrafficCounterTest, KeepsWhatClosedConnectionsHaveCarried) {
  TrafficCounter counter;
  EXPECT_EQ(counter.sent_bytes(), 0);
  counter.Update({{1, 100, 10}, {2, 1000, 1}});
  EXPECT_EQ(counter.sent_bytes(), 1100);
  EXPECT_EQ(counter.received_bytes(), 11);
  counter.Update({{2, 1500, 2}, {3, 7, 7}});
  EXPECT_EQ(counter.sent_bytes(), 100 + 1500 + 7);
  EXPECT_EQ(counter.received_bytes(), 10 + 2 + 7);
  counter.Update({});
  EXPECT_EQ(counter.sent_bytes(), 1607);
  counter.Update({{4, 3, 0}});
  EXPECT_EQ(counter.sent_bytes(), 1610);
  EXPECT_EQ(counter.received_bytes(), 19);
}

TEST(TrafficCounterTest, NeverGoesBack) {
  TrafficCounter counter;
  counter.Update({{1, 5000, 50}});
  // The kernel has noticed that a segment was sent twice.
  counter.Update({{1, 3600, 50}});
  EXPECT_EQ(counter.sent_bytes(), 5000);
  counter.Update({{1, 6000, 60}});
  EXPECT_EQ(counter.sent_bytes(), 6000);
}

TEST(TrafficCounterTest, AWeekOfShortConnectionsAddsUp) {
  TrafficCounter counter;
  constexpr uint64_t kSecondsOfAWeek = 7 * 24 * 3600;
  int64_t before = 0;
  for (uint64_t second = 1; second <= kSecondsOfAWeek; ++second) {
    counter.Update({{second, 1 << 20, 1}, {second + 1, 1 << 10, 0}});
    ASSERT_GE(counter.sent_bytes(), before);
    before = counter.sent_bytes();
  }
  EXPECT_EQ(counter.received_bytes(), static_cast<int64_t>(kSecondsOfAWeek));
}

}  // namespace
}  // namespace tony::executor
