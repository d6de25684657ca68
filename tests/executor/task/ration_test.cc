// Measurements that cost little, and some that cost a lot.
#include "executor/task/ration.h"

#include <gtest/gtest.h>

#include "common/fake_clock.h"

namespace tony::executor {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(RationTest, WhatCostsMoreRunsLessOften) {
  FakeClock clock;
  Ration ration(0.001);
  EXPECT_TRUE(ration.Due(clock.Now()));
  ration.Spent(clock.Now(), microseconds(200));
  clock.Advance(milliseconds(199));
  EXPECT_FALSE(ration.Due(clock.Now()));
  clock.Advance(milliseconds(1));
  EXPECT_TRUE(ration.Due(clock.Now()));
  ration.Spent(clock.Now(), milliseconds(50));
  clock.Advance(seconds(49));
  EXPECT_FALSE(ration.Due(clock.Now()));
  clock.Advance(seconds(1));
  EXPECT_TRUE(ration.Due(clock.Now()));
}

TEST(RationTest, AWeekOfADearMeasurementKeepsItsShare) {
  FakeClock clock;
  Ration ration(0.001);
  const Duration cost = milliseconds(30);
  Duration spent{0};
  constexpr int kSecondsOfAWeek = 7 * 24 * 3600;
  for (int second = 0; second < kSecondsOfAWeek; ++second) {
    if (ration.Due(clock.Now())) {
      ration.Spent(clock.Now(), cost);
      spent += cost;
    }
    clock.Advance(seconds(1));
  }
  EXPECT_LE(spent, Duration(seconds(kSecondsOfAWeek)) / 1000 + cost);
  EXPECT_GT(spent, Duration(seconds(kSecondsOfAWeek)) / 1100);
}

TEST(RationTest, CountsTheTimeOfTheThread) {
  FakeClock clock;
  Ration ration(0.5);
  bool ran = false;
  const Duration cost = ration.Run(clock.Now(), [&] {
    const Duration before = ThreadTime();
    while (ThreadTime() - before < milliseconds(10)) ran = true;
  });
  EXPECT_GE(cost, milliseconds(10));
  EXPECT_TRUE(ran);
  clock.Advance(milliseconds(19));
  EXPECT_EQ(ration.Run(clock.Now(), [] { ADD_FAILURE(); }), Duration(0));
}

}  // namespace
}  // namespace tony::executor
