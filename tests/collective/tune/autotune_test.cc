// A training that is made up, with a clock of its own: how it is tuned, and what is told of it.
#include "collective/tune/autotune.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tony::collective {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr size_t kMebibyte = size_t{1} << 20;
constexpr Autotune::Options kShort = {
    .warmup_samples = 1, .steps_per_sample = 4, .least_time = milliseconds(0)};

class AutotuneTest : public ::testing::Test {
 protected:
  void Begin(Autotune::Options options = kShort, const Tunable& what = {}) {
    settings_ = {.fusion_bytes = 128 * kMebibyte};
    autotune_.emplace(
        settings_, ParametersOf(what, std::nullopt), options,
        Autotune::Callbacks{.log = [this](const auto& line) { lines_.push_back(line); },
                            .say = [this](const auto& text) { said_.push_back(text); }});
  }
  /// 20 ms of computing, and less communication the nearer the settings are to the best ones.
  void Step() {
    milliseconds time(20);
    time += milliseconds(settings_.fusion_bytes == 4 * kMebibyte ? 2 : 6);
    time += milliseconds(settings_.window_us == 250 ? 2 : 4);
    now_ += time;
    Decide();
  }
  void Decide() {
    Decision decision;
    decision.tensors = {{.name = "gradient", .id = 1, .elements = 250000}};
    if (auto next = autotune_->Take(decision, now_)) settings_ = *next;
  }

  std::optional<Autotune> autotune_;
  Settings settings_;
  Deadline now_{std::chrono::hours(100)};
  std::vector<std::string> lines_;
  std::vector<std::string> said_;
};

TEST_F(AutotuneTest, FindsTheBestAndSaysSo) {
  Begin();
  int steps = 0;
  for (; !autotune_->done() && steps < 10000; ++steps) Step();
  ASSERT_TRUE(autotune_->done());
  EXPECT_LT(steps, 300);
  EXPECT_EQ(settings_.fusion_bytes, 4 * kMebibyte);
  EXPECT_EQ(settings_.window_us, 250U);
  EXPECT_EQ(lines_[0], "cycle_time_ms,tensor_fusion_threshold,score,chosen");
  // A million bytes in 30 ms.
  EXPECT_EQ(lines_[1], "0,134217728,33.3333,0");
  EXPECT_EQ(lines_.back(), "0.25,4194304,41.6667,1");
  ASSERT_EQ(said_.size(), 1U);
  EXPECT_THAT(said_[0], HasSubstr("autotune has chosen HOROVOD_FUSION_THRESHOLD=4194304 "
                                  "HOROVOD_CYCLE_TIME=0.25, after "));
  EXPECT_THAT(said_[0], HasSubstr(" samples: 41.6667 MB of tensors a second"));
  // Nothing more happens.
  const size_t lines = lines_.size();
  for (int i = 0; i < 100; ++i) Step();
  EXPECT_EQ(lines_.size(), lines);
  EXPECT_EQ(settings_.fusion_bytes, 4 * kMebibyte);
}

/// An evaluation, a checkpoint, a user who looks at something: in one step of each sample.
TEST_F(AutotuneTest, APauseIsNoSlowness) {
  Begin();
  for (int step = 0; !autotune_->done() && step < 10000; ++step) {
    if (step % 5 == 3) now_ += std::chrono::minutes(step);
    Step();
  }
  ASSERT_TRUE(autotune_->done());
  EXPECT_EQ(settings_.fusion_bytes, 4 * kMebibyte);
  EXPECT_EQ(settings_.window_us, 250U);
  EXPECT_EQ(lines_.back(), "0.25,4194304,41.6667,1");
}

TEST_F(AutotuneTest, TheStepOfAChangeDoesNotCount) {
  Begin({.warmup_samples = 0, .steps_per_sample = 1, .least_time = milliseconds(0)});
  Step();
  Step();
  ASSERT_EQ(lines_.size(), 2U);
  EXPECT_NE(settings_.fusion_bytes, 128 * kMebibyte);
  now_ += std::chrono::hours(1);
  Step();
  EXPECT_EQ(lines_.size(), 2U);
  Step();
  EXPECT_EQ(lines_.size(), 3U);
  EXPECT_EQ(lines_[2], "0,1048576,33.3333,0");
}

TEST_F(AutotuneTest, WarmUpAndTimeOfASample) {
  Begin({.warmup_samples = 2, .steps_per_sample = 2, .least_time = milliseconds(100)});
  // Samples of four steps of 30 ms each: two steps would be too short.
  for (int i = 0; i < 1 + 2 * 4 + 3; ++i) Step();
  EXPECT_EQ(lines_.size(), 1U);
  Step();
  EXPECT_EQ(lines_.size(), 2U);
}

TEST_F(AutotuneTest, WhatIsFixedStays) {
  Begin(kShort, {.window = false});
  for (int step = 0; !autotune_->done() && step < 10000; ++step) {
    Step();
    ASSERT_EQ(settings_.window_us, 0U);
  }
  EXPECT_EQ(settings_.fusion_bytes, 4 * kMebibyte);
  EXPECT_EQ(lines_.back().substr(0, 10), "0,4194304,");
}

/// Without names that come again nothing is measured, and nothing is changed.
TEST_F(AutotuneTest, NamesThatNeverComeAgain) {
  Begin();
  for (int step = 0; step < 1000; ++step) {
    now_ += milliseconds(1);
    Decision decision;
    decision.tensors = {{.name = std::to_string(step), .elements = 10}};
    EXPECT_FALSE(autotune_->Take(decision, now_));
  }
  EXPECT_EQ(lines_.size(), 1U);
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(AutotuneTest, DecisionsAtTheSameTimeAreNotDividedByNothing) {
  Begin();
  for (int step = 0; !autotune_->done() && step < 10000; ++step) Decide();
  EXPECT_TRUE(autotune_->done());
}

TEST_F(AutotuneTest, SwitchPointsHaveColumns) {
  Group::Ways ways;
  ways.tunable = {&SwitchPoints::whole_bytes};
  settings_ = {.fusion_bytes = kMebibyte, .window_us = 1000, .points = ways.points};
  autotune_.emplace(
      settings_, ParametersOf({.fusion = false, .window = false}, ways), kShort,
      Autotune::Callbacks{.log = [this](const auto& line) { lines_.push_back(line); },
                          .say = [this](const auto& text) { said_.push_back(text); }});
  for (int step = 0; !autotune_->done() && step < 10000; ++step) Step();
  EXPECT_EQ(lines_[0],
            "cycle_time_ms,tensor_fusion_threshold,whole_bytes,rails_bytes,window_bytes,"
            "score,chosen");
  EXPECT_EQ(lines_.back().substr(0, 31), "1,1048576,65536,131072,1048576,");
  ASSERT_EQ(said_.size(), 1U);
  EXPECT_THAT(said_[0],
              HasSubstr("whole_bytes 65536, rails_bytes 131072, window_bytes 1048576, after"));
}

}  // namespace
}  // namespace tony::collective
