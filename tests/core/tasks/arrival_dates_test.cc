// Dates of a program's first step, checkpoints and end, whatever the clock of its host says.
#include "core/tasks/arrival_dates.h"

#include <gtest/gtest.h>

#include "common/fake_clock.h"
#include "core/tasks/progress_tracker.h"

namespace tony::core {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int64_t kNow = 1'700'000'000'000;

TaskUsage UsageOf(int64_t first_step_ago, int64_t checkpoint_ago) {
  TaskUsage usage;
  usage.progress = Progress{.step = 3, .first_step_ago_millis = first_step_ago};
  usage.progress->checkpoint = ProgressCheckpoint{.path = "/a", .ago_millis = checkpoint_ago};
  return usage;
}

TEST(ProgressDates, AreThoseOfTheArrival) {
  TaskUsage usage = UsageOf(90'000, 250);
  AgeProgress(milliseconds(1'500), usage);
  DateProgress(kNow, usage);
  EXPECT_EQ(usage.progress->first_step_millis, kNow - 91'500);
  EXPECT_EQ(usage.progress->checkpoint->millis, kNow - 1'750);
  EXPECT_EQ(usage.progress->first_step_ago_millis, -1);
  EXPECT_EQ(usage.progress->checkpoint->ago_millis, -1);
}

TEST(ProgressDates, WhatIsDatedStays) {
  TaskUsage usage = UsageOf(1'000, 1'000);
  DateProgress(kNow, usage);
  const TaskUsage dated = usage;
  AgeProgress(seconds(5), usage);
  DateProgress(kNow + 60'000, usage);
  EXPECT_EQ(usage, dated);
}

TEST(ProgressDates, ThereIsNoneWithoutAStep) {
  TaskUsage usage = UsageOf(-1, -1);
  AgeProgress(seconds(5), usage);
  DateProgress(kNow, usage);
  EXPECT_EQ(usage.progress->first_step_millis, 0);
  EXPECT_EQ(usage.progress->checkpoint->millis, 0);
  TaskUsage silent;
  AgeProgress(seconds(5), silent);
  DateProgress(kNow, silent);
  EXPECT_EQ(silent.progress, std::nullopt);
}

// The executor's wall clock has no part in it: only differences of its monotonic one travel.
TEST(ProgressDates, TheNextMeasurementGivesTheSameDate) {
  FakeClock clock;
  ProgressTracker tracker;
  tracker.Take(ParseReportLine("step=1"), clock.Now());
  for (const int64_t minutes : {1, 2, 600}) {
    TaskUsage usage;
    clock.Advance(std::chrono::minutes(minutes));
    usage.progress = tracker.At(clock.Now());
    const int64_t passed = (clock.Now() - TimePoint(FakeClock().Now())) / milliseconds(1);
    DateProgress(kNow + passed, usage);
    EXPECT_EQ(usage.progress->first_step_millis, kNow);
  }
}

TEST(ExitDates, AreThoseOfTheArrival) {
  TaskExit exit;
  exit.host_millis = 7;
  exit.ended_ago_millis = 1'500;
  DateExit(kNow, exit);
  EXPECT_EQ(exit.ended_millis, kNow - 1'500);
  EXPECT_EQ(exit.ended_ago_millis, -1);
  EXPECT_EQ(exit.host_millis, 7);
  DateExit(kNow + 60'000, exit);
  EXPECT_EQ(exit.ended_millis, kNow - 1'500);
}

TEST(ClockAhead, IsNothingWithinTheWayOfAMessage) {
  EXPECT_EQ(ClockAhead(kNow + 60'000, kNow), 60'000);
  EXPECT_EQ(ClockAhead(kNow - 60'000, kNow), -60'000);
  EXPECT_EQ(ClockAhead(kNow - kArrivalToleranceMillis, kNow), 0);
  EXPECT_EQ(ClockAhead(0, kNow), 0);
  EXPECT_EQ(ClockAhead(kNow, 0), 0);
}

}  // namespace
}  // namespace tony::core
