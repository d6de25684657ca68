#include "client/show/top_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/show/progress_text.h"

namespace tony::client {
namespace {

using core::TaskState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr int64_t kStart = 1'700'000'000'000;
constexpr int64_t kMiB = int64_t{1} << 20;

class TopTableTest : public ::testing::Test {
 protected:
  TopTableTest() { Submit(4); }

  void Submit(int workers) {
    core::JobSubmitted submitted;
    submitted.job_id = "local-1";
    submitted.name = "train";
    submitted.types = {{"worker", workers, true, 2048, 2, 0}};
    job_ = {};
    sequence_ = 0;
    Apply(submitted);
    Apply(core::JobStateChanged{core::JobState::kRunning, 0, ""});
  }
  void Apply(core::JobEventBody body) {
    job_.Apply({.sequence = ++sequence_, .unix_millis = kStart, .body = std::move(body)});
  }
  void Change(int index, TaskState state, int attempt = 1) {
    core::TaskChanged changed;
    changed.task = {"worker", index};
    changed.state = state;
    changed.attempt = attempt;
    changed.host = "node1";
    Apply(changed);
  }
  void Measure(int index, const core::TaskUsage& usage, int attempt = 1) {
    job_.view.Measure({{"worker", index}, usage, attempt});
  }
  std::vector<TopTask> Look(int seconds = 100) {
    return table_.Look(job_, kStart + seconds * int64_t{1000});
  }
  std::vector<std::string> Order() {
    std::vector<std::string> names;
    for (const TopTask& task : Look()) names.push_back(task.task->last.task.ToString());
    return names;
  }
  std::vector<std::string> Lines(const Screen& screen) {
    const std::vector<TopTask> tasks = Look();
    return absl::StrSplit(RenderTop(job_, tasks, kStart + 100'000, screen), '\n',
                          absl::SkipEmpty());
  }

  core::ObservedJob job_;
  int64_t sequence_ = 0;
  TopTable table_;
};

core::TaskUsage Training(double idle_seconds, int64_t memory = 512 * kMiB) {
  core::TaskUsage usage{.seconds = 100, .cpu_seconds = 150, .memory_bytes = memory};
  usage.progress = core::Progress{.step = 120,
                                  .steps_per_second = 2.1,
                                  .long_gap_seconds = 0.6,
                                  .idle_seconds = idle_seconds,
                                  .values = {{"loss", 0.3125}}};
  return usage;
}

TEST_F(TopTableTest, TroubleComesFirst) {
  for (int index = 0; index < 4; ++index) Change(index, TaskState::kRunning);
  Measure(0, Training(0.2));
  Measure(1, Training(0.2, 1900 * kMiB));
  Measure(2, Training(61));
  EXPECT_THAT(Order(), ElementsAre("worker:2", "worker:1", "worker:0", "worker:3"));
  Change(3, TaskState::kFailed);
  Change(0, TaskState::kSucceeded);
  EXPECT_THAT(Order(), ElementsAre("worker:3", "worker:2", "worker:1", "worker:0"));
  EXPECT_EQ(Look()[0].trouble, TopTrouble::kFailed);
  EXPECT_EQ(Look()[1].trouble, TopTrouble::kHangs);
  EXPECT_EQ(Look()[2].trouble, TopTrouble::kFullMemory);
  EXPECT_EQ(Look()[3].trouble, TopTrouble::kOver);
}

TEST_F(TopTableTest, SlowStepsAndPhasesAreNoTrouble) {
  Change(0, TaskState::kRunning);
  core::TaskUsage usage = Training(100);
  usage.progress->long_gap_seconds = 40;
  Measure(0, usage);
  EXPECT_NE(Look()[3].trouble, TopTrouble::kHangs);
  usage.progress->long_gap_seconds = 1;
  usage.progress->phase = "checkpoint";
  Measure(0, usage);
  for (const TopTask& task : Look()) EXPECT_NE(task.trouble, TopTrouble::kHangs);
  usage.progress->phase = "";
  Measure(0, usage);
  EXPECT_EQ(Look()[0].trouble, TopTrouble::kHangs);
}

TEST_F(TopTableTest, CoresAreThoseSinceTheMeasurementBefore) {
  Change(0, TaskState::kRunning);
  const auto cores = [&] {
    for (const TopTask& task : Look()) {
      if (task.task->last.task.index == 0) return task.cores;
    }
    return -2.0;
  };
  EXPECT_EQ(cores(), -1);
  Measure(0, {.seconds = 100, .cpu_seconds = 150});
  EXPECT_DOUBLE_EQ(cores(), 1.5) << "the mean since the start";
  EXPECT_DOUBLE_EQ(cores(), 1.5) << "the same measurement again";
  Measure(0, {.seconds = 105, .cpu_seconds = 151});
  EXPECT_DOUBLE_EQ(cores(), 0.2);
  Measure(0, {.seconds = 110, .cpu_seconds = 151});
  EXPECT_DOUBLE_EQ(cores(), 0);
  Change(0, TaskState::kRunning, 2);
  Measure(0, {.seconds = 2, .cpu_seconds = 1}, 2);
  EXPECT_DOUBLE_EQ(cores(), 0.5);
}

TEST_F(TopTableTest, ARowForEachTask) {
  Change(0, TaskState::kRunning);
  core::TaskUsage usage = Training(2.5);
  usage.gpu_utilization = 87;
  usage.gpu_memory_bytes = 3072 * kMiB;
  usage.progress->phase = "evaluate";
  Measure(0, usage);
  Submit(1);
  Change(0, TaskState::kRunning);
  Measure(0, usage);
  const auto lines = Lines({.width = 200});
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[0], StartsWith("train (local-1)  RUNNING  "));
  EXPECT_EQ(
      lines[1],
      "TASK      STATE    HOST   CORES  MEMORY       GPU          STEP  STEPS/S  LOSS    IDLE");
  EXPECT_EQ(lines[2],
            "worker:0  RUNNING  node1  1.5    0.5/2.0 GiB  87% 3.0 GiB  120   2.1/s    0.3125  "
            "2.5s (evaluate)");
}

TEST_F(TopTableTest, RowsThatDoNotFitAreCounted) {
  Submit(1000);
  Change(999, TaskState::kFailed);
  const auto lines = Lines({.width = 40, .rows = 10});
  ASSERT_EQ(lines.size(), 9u) << "one line of the screen is the cursor's";
  EXPECT_THAT(lines[2], StartsWith("worker:999  FAILED"));
  EXPECT_EQ(lines[8], "… 994 more tasks");
  EXPECT_EQ(Lines({.width = 40, .rows = 0}).size(), 1002u);
  Submit(7);
  EXPECT_EQ(Lines({.width = 40, .rows = 10}).size(), 9u);
  EXPECT_THAT(Lines({.width = 40, .rows = 10}).back(), Not(HasSubstr("more")));
}

TEST_F(TopTableTest, TheStateIsColoured) {
  Submit(1);
  Change(0, TaskState::kFailed);
  EXPECT_THAT(Lines({.width = 80, .color = true})[2],
              StartsWith("worker:0  \x1b[31mFAILED\x1b[0m  node1"));
}

TEST(ProgressTextTest, RatesHaveAUnitThatFits) {
  EXPECT_EQ(RateText(-1), "");
  EXPECT_EQ(RateText(1234.5), "1234/s");
  EXPECT_EQ(RateText(2.14), "2.1/s");
  EXPECT_EQ(RateText(0.02), "1.2/min");
  EXPECT_EQ(RateText(0.0005), "1.8/h");
  EXPECT_EQ(StepText({.step = 120, .steps_per_second = 2.1}), "120 (2.1/s)");
  EXPECT_EQ(StepText({.step = 120}), "120");
  EXPECT_EQ(StepText({}), "");
}

}  // namespace
}  // namespace tony::client
