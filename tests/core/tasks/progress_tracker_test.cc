#include "core/tasks/progress_tracker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/fake_clock.h"

namespace tony::core {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

class ProgressTrackerTest : public ::testing::Test {
 protected:
  std::string Report(const std::string& line) {
    return tracker_.Take(ParseReportLine(line), clock_.Now());
  }
  // Reports steps `first` to `last`, `pause` before each.
  void Steps(int first, int last, Duration pause) {
    for (int step = first; step <= last; ++step) {
      clock_.Advance(pause);
      Report("step=" + std::to_string(step));
    }
  }
  Progress Now() const { return tracker_.At(clock_.Now()).value(); }

  FakeClock clock_;
  ProgressTracker tracker_;
};

TEST_F(ProgressTrackerTest, AProgramThatReportsNothingHasNone) {
  EXPECT_EQ(tracker_.At(clock_.Now()), std::nullopt);
  Report("no pair here");
  EXPECT_EQ(tracker_.At(clock_.Now()), std::nullopt);
}

TEST_F(ProgressTrackerTest, TheFirstStepHasATimeAndNoSpeed) {
  clock_.Advance(seconds(5));
  Report("step=100 loss=2.5");
  clock_.Advance(milliseconds(1500));
  const Progress progress = Now();
  EXPECT_EQ(progress.step, 100);
  EXPECT_EQ(progress.first_step_ago_millis, 1500);
  EXPECT_EQ(progress.first_step_millis, 0) << "the ApplicationMaster dates it";
  EXPECT_DOUBLE_EQ(progress.idle_seconds, 1.5);
  EXPECT_EQ(progress.steps_per_second, -1);
  EXPECT_EQ(progress.step_seconds, -1);
  EXPECT_EQ(progress.long_gap_seconds, -1);
  EXPECT_THAT(progress.values, ElementsAre(Pair("loss", 2.5)));
}

TEST_F(ProgressTrackerTest, MedianAndLongGapAreOfTheLast200) {
  Steps(1, 101, seconds(60));
  EXPECT_DOUBLE_EQ(Now().step_seconds, 60);
  // 200 later gaps push those out: 197 of 1 s, 3 of 5 s.
  Steps(102, 298, seconds(1));
  Steps(299, 301, seconds(5));
  EXPECT_DOUBLE_EQ(Now().step_seconds, 1);
  EXPECT_DOUBLE_EQ(Now().long_gap_seconds, 5);
}

TEST_F(ProgressTrackerTest, TheRateIsThatOfTheLastTenSeconds) {
  Steps(1, 50, seconds(10));
  Steps(51, 90, milliseconds(500));
  EXPECT_DOUBLE_EQ(Now().steps_per_second, 2);
  // A step that takes longer than that counts alone.
  Steps(91, 91, seconds(40));
  EXPECT_DOUBLE_EQ(Now().steps_per_second, 0.025);
}

TEST_F(ProgressTrackerTest, ReportsOfEveryTenthStepCountTen) {
  for (int step = 0; step <= 100; step += 10) {
    Report("step=" + std::to_string(step));
    clock_.Advance(seconds(5));
  }
  EXPECT_DOUBLE_EQ(Now().step_seconds, 0.5);
  EXPECT_DOUBLE_EQ(Now().steps_per_second, 2);
  EXPECT_DOUBLE_EQ(Now().long_gap_seconds, 5);
}

TEST_F(ProgressTrackerTest, LinesThatAreReadTogetherAreOneReport) {
  for (int batch = 0; batch < 5; ++batch) {
    for (int step = 0; step < 20; ++step) Report("step=" + std::to_string(batch * 20 + step));
    clock_.Advance(milliseconds(20));
  }
  EXPECT_DOUBLE_EQ(Now().step_seconds, 0.001);
  EXPECT_THAT(Now().steps_per_second, DoubleNear(1000, 1e-6));
}

TEST_F(ProgressTrackerTest, ARankThatIsBehindDoesNotTurnTheStepBack) {
  Report("step=10");
  clock_.Advance(seconds(1));
  Report("step=8");
  EXPECT_EQ(Now().step, 10);
  Report("step=11");
  Report("step=9");
  Report("step=10");
  EXPECT_EQ(Now().step, 11);
  EXPECT_DOUBLE_EQ(Now().idle_seconds, 0);
}

TEST_F(ProgressTrackerTest, AProgramThatCountsAnewIsFollowed) {
  Steps(1, 100, seconds(1));
  Steps(1, 2, seconds(1));
  EXPECT_EQ(Now().step, 100);
  EXPECT_DOUBLE_EQ(Now().idle_seconds, 0) << "it does something";
  Steps(3, 3, seconds(1));
  EXPECT_EQ(Now().step, 3);
  Steps(4, 10, seconds(1));
  EXPECT_EQ(Now().step, 10);
  EXPECT_DOUBLE_EQ(Now().steps_per_second, 1);
}

TEST_F(ProgressTrackerTest, TheSameStepAgainIsNoProgress) {
  Report("step=5");
  clock_.Advance(seconds(30));
  Report("step=5 loss=1");
  EXPECT_DOUBLE_EQ(Now().idle_seconds, 30);
  EXPECT_EQ(Now().step_seconds, -1);
}

TEST_F(ProgressTrackerTest, AStepIsAWholeNumber) {
  EXPECT_EQ(Report("step=two"), "step=two");
  EXPECT_EQ(Report("step=-1"), "step=-1");
  EXPECT_EQ(Report("step=1.5"), "step=1.5");
  EXPECT_EQ(Report("step=nan"), "step=nan");
  EXPECT_EQ(Report("step=1e300"), "step=1e300");
  EXPECT_EQ(tracker_.At(clock_.Now()), std::nullopt);
  EXPECT_EQ(Report("step=1.2e2"), "");
  EXPECT_EQ(Now().step, 120);
}

TEST_F(ProgressTrackerTest, PhasesDoNotCountAsSteps) {
  Steps(1, 5, seconds(2));
  clock_.Advance(seconds(1));
  Report("phase=checkpoint");
  clock_.Advance(seconds(60));
  EXPECT_EQ(Now().phase, "checkpoint");
  EXPECT_DOUBLE_EQ(Now().phase_seconds, 60);
  EXPECT_EQ(Now().longest_phase_seconds, -1);
  EXPECT_DOUBLE_EQ(Now().idle_seconds, 61);
  Report("phase=");
  EXPECT_EQ(Now().phase, "");
  EXPECT_EQ(Now().phase_seconds, -1);
  Steps(6, 6, seconds(1));
  EXPECT_DOUBLE_EQ(Now().long_gap_seconds, 2);
  Report("phase=checkpoint");
  clock_.Advance(seconds(3));
  EXPECT_DOUBLE_EQ(Now().longest_phase_seconds, 60);
  Report("phase=evaluate");
  EXPECT_EQ(Now().longest_phase_seconds, -1);
}

TEST_F(ProgressTrackerTest, AStepWithinAPhaseCountsOnlyTheTimeOutsideOfIt) {
  Report("step=1");
  clock_.Advance(seconds(4));
  Report("phase=evaluate");
  clock_.Advance(seconds(10));
  Report("step=2");
  EXPECT_DOUBLE_EQ(Now().step_seconds, 4);
  clock_.Advance(seconds(10));
  Report("phase=");
  clock_.Advance(seconds(6));
  Report("step=3");
  EXPECT_DOUBLE_EQ(Now().long_gap_seconds, 6);
}

TEST_F(ProgressTrackerTest, CheckpointsAreCountedWithTheirDuration) {
  Report("step=1 checkpoint=/data/step-1 checkpoint_seconds=2.5");
  ASSERT_TRUE(Now().checkpoint);
  EXPECT_EQ(*Now().checkpoint, (ProgressCheckpoint{"/data/step-1", 0, 2.5, 1, /*ago_millis=*/0}));
  EXPECT_THAT(Now().values, IsEmpty());
  Report("phase=checkpoint");
  clock_.Advance(seconds(7));
  Report("checkpoint=/data/step-2 phase=");
  EXPECT_DOUBLE_EQ(Now().checkpoint->seconds, 7);
  EXPECT_EQ(Now().checkpoint->count, 2);
  EXPECT_EQ(Now().checkpoint->path, "/data/step-2");
  Report("checkpoint=/data/step-3");
  EXPECT_EQ(Now().checkpoint->seconds, -1);
}

TEST_F(ProgressTrackerTest, ALossThatIsNoNumberAnyMoreIsNotShown) {
  Report("loss=0.5 note=well");
  EXPECT_THAT(Now().values, ElementsAre(Pair("loss", 0.5)));
  Report("loss=nan");
  EXPECT_THAT(Now().values, IsEmpty());
  Report("loss=0.25");
  EXPECT_THAT(Now().values, ElementsAre(Pair("loss", 0.25)));
}

// A week of a program that reports new names, phases and checkpoints each second.
TEST_F(ProgressTrackerTest, ItsMemoryIsBounded) {
  for (int second = 0; second < 7 * 24 * 3600; ++second) {
    clock_.Advance(seconds(1));
    const std::string number = std::to_string(second);
    Report("step=" + number + " name" + number + "=1 phase=p" + number + " checkpoint=" + number);
  }
  EXPECT_THAT(Now().values, SizeIs(ProgressTracker::kMostValues));
  EXPECT_EQ(Now().checkpoint->count, 7 * 24 * 3600);
  EXPECT_EQ(Now().phase, "p604799");
}

}  // namespace
}  // namespace tony::core
