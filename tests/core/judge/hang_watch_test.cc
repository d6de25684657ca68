// When a job hangs, by the measurements of its tasks under a fake clock.
#include "core/judge/hang_watch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "common/fake_clock.h"

namespace tony::core {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

const TaskId kFirst{"worker", 0};
const TaskId kSecond{"worker", 1};

class HangWatchTest : public ::testing::Test {
 protected:
  struct Task {
    int64_t step = -1;
    TimePoint progressed;
    double cpu = 0;
    std::string phase;
    double gpu = -1;
    int attempt = 1;
  };

  void Measure(const TaskId& id) {
    const Task& task = tasks_[id];
    TaskUsage usage;
    usage.cpu_seconds = task.cpu;
    usage.gpu_utilization = task.gpu;
    usage.progress.emplace();
    usage.progress->step = task.step;
    usage.progress->phase = task.phase;
    usage.progress->idle_seconds =
        task.step < 0 ? -1 : std::chrono::duration<double>(clock_.Now() - task.progressed).count();
    watch_.On(id, task.attempt, usage, clock_.Now());
  }
  /// So much time, in which the task uses `cores`, with measurements each five seconds.
  void Wait(Duration time, double cores, const TaskId& id = kFirst) {
    for (Duration left = time; left > Duration::zero(); left -= seconds(5)) {
      const Duration part = std::min<Duration>(left, seconds(5));
      clock_.Advance(part);
      tasks_[id].cpu += cores * std::chrono::duration<double>(part).count();
      Measure(id);
    }
  }
  /// The task names its next step.
  void Step(const TaskId& id = kFirst) {
    ++tasks_[id].step;
    tasks_[id].progressed = clock_.Now();
    Measure(id);
  }
  /// Steps of ten seconds with two cores.
  void Train(int steps, const TaskId& id = kFirst) {
    for (int i = 0; i < steps; ++i) {
      Wait(seconds(10), 2, id);
      Step(id);
    }
  }
  size_t Hanging() const { return watch_.Hanging().size(); }

  FakeClock clock_;
  std::map<TaskId, Task> tasks_;
  HangWatch watch_{Duration::zero()};
};

TEST_F(HangWatchTest, NeedsNoProgressAndAnIdleProcessor) {
  Train(10);
  Wait(seconds(60), 0);
  EXPECT_EQ(Hanging(), 0u);
  Wait(seconds(5), 0);
  ASSERT_EQ(Hanging(), 1u);
  EXPECT_EQ(
      StandstillText(watch_.Hanging()[0]),
      "worker:0 has named no step for 1m 05s after step 9 (at most 1m 00s would be usual) and "
      "uses 0.0 of its usual 2.0 cores");
  Step();
  EXPECT_EQ(Hanging(), 0u);
}

TEST_F(HangWatchTest, ALongStepThatComputesIsNone) {
  Train(10);
  Wait(minutes(10), 1);
  EXPECT_EQ(Hanging(), 0u);
}

TEST_F(HangWatchTest, ABusyGpuWithoutProgressIsOne) {
  tasks_[kFirst].gpu = 100;
  Train(10);
  Wait(minutes(2), 2);
  ASSERT_EQ(Hanging(), 1u);
  EXPECT_TRUE(StandstillText(watch_.Hanging()[0]).ends_with("while its GPUs were busy"));
  tasks_[kFirst].gpu = 40;
  Wait(seconds(5), 2);
  EXPECT_EQ(Hanging(), 0u);
}

TEST_F(HangWatchTest, TheLimitGrowsWithTheUsualGaps) {
  Step();
  for (int i = 0; i < 5; ++i) {
    Wait(minutes(2), 2);
    Step();
  }
  Wait(minutes(6), 0);
  EXPECT_EQ(Hanging(), 0u);
  Wait(seconds(5), 0);
  EXPECT_EQ(Hanging(), 1u);
}

TEST_F(HangWatchTest, JudgesNobodyWhosePaceIsNotKnown) {
  Measure(kFirst);  // names no step
  Wait(minutes(60), 0);
  EXPECT_EQ(Hanging(), 0u);
  Step();
  Wait(minutes(60), 0);
  EXPECT_EQ(Hanging(), 0u);
}

TEST_F(HangWatchTest, ARestartBeginsAnew) {
  Train(10);
  Wait(minutes(2), 0);
  ASSERT_EQ(Hanging(), 1u);
  tasks_[kFirst] = {.attempt = 2};
  Measure(kFirst);  // the new run has named no step
  EXPECT_EQ(Hanging(), 0u);
  Step();
  Wait(minutes(2), 0);
  EXPECT_EQ(Hanging(), 0u);
  Train(10);
  Wait(minutes(7), 0);
  EXPECT_EQ(Hanging(), 1u);
  watch_.Forget(kFirst);
  EXPECT_EQ(Hanging(), 0u);
}

TEST_F(HangWatchTest, PhasesHaveTheirOwnPace) {
  Train(10);
  for (int i = 0; i < 3; ++i) {
    tasks_[kFirst].phase = "checkpoint";
    Wait(minutes(3), 0);
    EXPECT_EQ(Hanging(), 0u) << "a phase without a history";
    Step();
    tasks_[kFirst].phase = "";
    Train(5);
  }
  tasks_[kFirst].phase = "checkpoint";
  Wait(minutes(9), 0);
  EXPECT_EQ(Hanging(), 0u);
  Wait(seconds(5), 0);
  EXPECT_EQ(Hanging(), 1u);
}

TEST_F(HangWatchTest, APhaseCountsAlsoWhenItIsOverBeforeTheNextStep) {
  Train(10);
  for (int i = 0; i < 3; ++i) {
    tasks_[kFirst].phase = "evaluate";
    Wait(minutes(3), 0);
    tasks_[kFirst].phase = "";
    Wait(seconds(5), 0);
    EXPECT_EQ(Hanging(), 0u) << "the next step is still to come";
    Step();
    Train(5);
  }
  // The pace without a phase is as before, and that of the phase is known now.
  Wait(seconds(65), 0);
  EXPECT_EQ(Hanging(), 1u);
  tasks_[kFirst].phase = "evaluate";
  Measure(kFirst);
  EXPECT_EQ(Hanging(), 0u);
  Wait(minutes(9), 0);
  EXPECT_EQ(Hanging(), 1u);
}

TEST_F(HangWatchTest, OneInANewPhaseHoldsUpTheOthers) {
  Train(10, kFirst);
  Train(10, kSecond);
  Step(kFirst);
  tasks_[kFirst].phase = "checkpoint";
  for (int i = 0; i < 60; ++i) {
    Wait(seconds(5), 0, kFirst);
    Measure(kSecond);
  }
  EXPECT_EQ(Hanging(), 0u);
}

TEST_F(HangWatchTest, WhatWasNotMeasuredIsNoStandstill) {
  Train(10);
  clock_.Advance(minutes(30));
  EXPECT_EQ(Hanging(), 0u);
}

TEST_F(HangWatchTest, OneThatGoesOnIsEnoughForTheOthers) {
  Train(10, kFirst);
  Train(10, kSecond);
  const auto wait = [this](Duration time, double first, double second) {
    for (Duration left = time; left > Duration::zero(); left -= seconds(5)) {
      Wait(seconds(5), first, kFirst);
      tasks_[kSecond].cpu += 5 * second;
      Measure(kSecond);
    }
  };
  Step(kFirst);
  for (int i = 0; i < 20; ++i) {
    wait(seconds(10), 0, 2);
    Step(kSecond);
  }
  EXPECT_EQ(Hanging(), 0u);
  // The second one spins now, which is its usual use: the first one is who stands still.
  wait(minutes(2), 0, 2);
  const std::vector<Standstill> hanging = watch_.Hanging();
  ASSERT_EQ(hanging.size(), 1u);
  EXPECT_EQ(hanging[0].task, kFirst);
}

TEST_F(HangWatchTest, AConfiguredLimitHoldsFromTheFirstStepOn) {
  HangWatch watch{seconds(20)};
  TaskUsage usage;
  usage.progress.emplace();
  for (int i = 0; i < 12; ++i) {
    usage.cpu_seconds = std::min(i, 6) * 5;
    usage.progress->step = std::min(i, 6);
    usage.progress->idle_seconds = i <= 6 ? 0 : (i - 6) * 5;
    watch.On(kFirst, 1, usage, clock_.Now());
    EXPECT_EQ(watch.Hanging().size(), i > 10 ? 1u : 0u) << i;
    clock_.Advance(seconds(5));
  }
}

TEST_F(HangWatchTest, OneThatHangsBeforeItsUseIsKnownIsFoundByAConfiguredLimit) {
  for (const double cores : {0.0, 1.0}) {
    HangWatch watch{seconds(20)};
    TaskUsage usage;
    usage.progress.emplace();
    usage.progress->step = 7;
    for (int i = 0; i < 6; ++i) {
      usage.cpu_seconds = 3 + cores * i * 5;
      usage.progress->idle_seconds = i * 5;
      watch.On(kFirst, 1, usage, clock_.Now());
      clock_.Advance(seconds(5));
    }
    ASSERT_EQ(watch.Hanging().size(), cores == 0 ? 1u : 0u);
    if (cores > 0) continue;
    EXPECT_EQ(StandstillText(watch.Hanging()[0]),
              "worker:0 has named no step for 25s after step 7 (at most 20s would be usual) "
              "and uses 0.0 cores");
  }
}

TEST_F(HangWatchTest, IsBounded) {
  for (int i = 0; i < 1000; ++i) {
    tasks_[kFirst].phase = std::to_string(i);
    Train(1);
  }
  tasks_[kFirst].phase = "1";
  Train(static_cast<int>(HangWatch::kGaps) * 2);
  Wait(minutes(2), 0);
  EXPECT_EQ(Hanging(), 1u);
}

TEST_F(HangWatchTest, NonsenseIsIgnored) {
  Train(10);
  TaskUsage usage;
  usage.progress.emplace();
  usage.progress->step = 5;
  for (const double idle : {-5.0, std::nan(""), HUGE_VAL, 1e300}) {
    usage.progress->idle_seconds = idle;
    watch_.On(kFirst, 1, usage, clock_.Now());
    (void)Hanging();
  }
}

}  // namespace
}  // namespace tony::core
