// Tests when measurements are sent, and that none is lost or sent twice.
#include "executor/master/unsent_measurements.h"

#include <gtest/gtest.h>

namespace tony::executor {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

core::TaskUsage UsageOf(int processes) {
  core::TaskUsage usage;
  usage.processes = processes;
  return usage;
}

class UnsentMeasurementsTest : public ::testing::Test {
 protected:
  UnsentMeasurements unsent_;
  TimePoint now_{std::chrono::hours(1)};
};

TEST_F(UnsentMeasurementsTest, GoAlongWithAHeartbeatOldestFirst) {
  v1::Heartbeat none;
  unsent_.MoveTo(none, now_);
  EXPECT_FALSE(none.has_usage());
  for (int i = 1; i <= 3; ++i) unsent_.Add(UsageOf(i), now_);
  v1::Heartbeat heartbeat;
  unsent_.MoveTo(heartbeat, now_);
  EXPECT_EQ(heartbeat.usage().processes(), 3);
  ASSERT_EQ(heartbeat.earlier_size(), 2);
  EXPECT_EQ(heartbeat.earlier(0).processes(), 1);
  EXPECT_EQ(heartbeat.earlier(1).processes(), 2);
  EXPECT_FALSE(unsent_.TakeMessage(now_).has_value());
}

TEST_F(UnsentMeasurementsTest, AMessageOfTheirOwnIsNoSignOfLife) {
  unsent_.Add(UsageOf(5), now_);
  const auto message = unsent_.TakeMessage(now_);
  ASSERT_TRUE(message.has_value());
  EXPECT_EQ(message->heartbeat().sent(), 0);
  EXPECT_EQ(message->heartbeat().usage().processes(), 5);
  EXPECT_EQ(message->heartbeat().earlier_size(), 0);
}

TEST_F(UnsentMeasurementsTest, WaitForHeartbeatsThatAreNoRarer) {
  unsent_.set_pauses({.heartbeats = seconds(6), .measurements = seconds(10)});
  unsent_.Add(UsageOf(1), now_);
  EXPECT_FALSE(unsent_.IsDue(now_));
  EXPECT_FALSE(unsent_.IsDue(now_ + std::chrono::hours(1)));
}

TEST_F(UnsentMeasurementsTest, DoNotWaitForRareHeartbeats) {
  unsent_.set_pauses({.heartbeats = seconds(5), .measurements = seconds(1)});
  EXPECT_FALSE(unsent_.IsDue(now_)) << "there is none";
  unsent_.Add(UsageOf(1), now_);
  EXPECT_TRUE(unsent_.IsDue(now_));
  ASSERT_TRUE(unsent_.TakeMessage(now_).has_value());
  unsent_.Add(UsageOf(2), now_);
  EXPECT_FALSE(unsent_.IsDue(now_ + milliseconds(100)));
  EXPECT_TRUE(unsent_.IsDue(now_ + milliseconds(990))) << "a little early";
}

TEST_F(UnsentMeasurementsTest, TheOldestGoWhenNobodyTakesThem) {
  for (int i = 0; i < 1000; ++i) unsent_.Add(UsageOf(i), now_);
  v1::Heartbeat heartbeat;
  unsent_.MoveTo(heartbeat, now_);
  EXPECT_EQ(heartbeat.usage().processes(), 999);
  EXPECT_EQ(heartbeat.earlier_size(), static_cast<int>(UnsentMeasurements::kMost) - 1);
  EXPECT_EQ(heartbeat.earlier(0).processes(), 1000 - static_cast<int>(UnsentMeasurements::kMost));
}

TEST_F(UnsentMeasurementsTest, WhatWasAgoIsLongerAgoAfterTheWait) {
  core::TaskUsage usage;
  usage.progress = core::Progress{.step = 1, .first_step_ago_millis = 500};
  usage.progress->checkpoint = core::ProgressCheckpoint{.path = "/a", .ago_millis = 0};
  unsent_.Add(usage, now_);
  v1::Heartbeat heartbeat;
  unsent_.MoveTo(heartbeat, now_ + seconds(3));
  EXPECT_EQ(heartbeat.usage().progress().first_step_ago_millis(), 3500);
  EXPECT_EQ(heartbeat.usage().progress().checkpoint().ago_millis(), 3000);
}

TEST_F(UnsentMeasurementsTest, ARunThatIsOverLeavesNone) {
  unsent_.Add(UsageOf(1), now_);
  unsent_.Clear();
  EXPECT_FALSE(unsent_.TakeMessage(now_).has_value());
}

}  // namespace
}  // namespace tony::executor
