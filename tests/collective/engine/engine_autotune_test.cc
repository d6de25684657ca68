// Engines that are tuned while they work: whatever is tried, all results are right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>

#include "tests/collective/engine/tensor_steps.h"
#include "tests/collective/meeting/meeting_ranks.h"

namespace tony::collective {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr int kRanks = 4;
constexpr size_t kLarge = 300001;  // elements, of more bytes than any switch point that is tried

/// Collects the reports of rank 0's engine. Thread safe.
class Said {
 public:
  std::function<void(const std::string&)> Callback() {
    return [this](const std::string& sentence) {
      const std::lock_guard lock(mutex_);
      sentences_.push_back(sentence);
    };
  }
  std::vector<std::string> Get() {
    const std::lock_guard lock(mutex_);
    return sentences_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> sentences_;
};

/// Lines of a table, of which each has its cells.
std::vector<std::vector<std::string>> Rows(const std::string& path) {
  std::vector<std::vector<std::string>> rows;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream cells(line);
    rows.emplace_back();
    for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(cell);
  }
  return rows;
}

/// Different values of a column, but for its head.
std::set<std::string> Values(const std::vector<std::vector<std::string>>& rows,
                             const std::string& head) {
  std::set<std::string> values;
  for (size_t column = 0; column < rows.at(0).size(); ++column) {
    if (rows[0][column] != head) continue;
    for (size_t row = 1; row < rows.size(); ++row) values.insert(rows[row].at(column));
  }
  return values;
}

/// Sums a number of each rank.
int Sum(Engine& engine, const std::string& name, int own) {
  int32_t number = own;
  Promise done;
  Request request = {.name = name, .kind = {.type = DataType::kInt32}};
  EXPECT_TRUE(engine.AllReduce(request, &number, &number, done.Callback()).ok());
  const Status status = done.Get();
  EXPECT_TRUE(status.ok()) << status.message();
  return number;
}

/// The tensor that steps are told apart by, with a value for each step.
void SumLarge(Engine& engine, int rank, int step, std::vector<int32_t>& vector, Promise& done) {
  vector.assign(kLarge, rank + step);
  const Request request = {
      .name = "large", .kind = {.type = DataType::kInt32}, .shape = {static_cast<int64_t>(kLarge)}};
  const Status submitted = engine.AllReduce(request, vector.data(), vector.data(), done.Callback());
  EXPECT_TRUE(submitted.ok()) << submitted.message();
}

class EngineAutotuneTest : public ::testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    log_ = ::testing::TempDir() + "autotune-" + std::to_string(getpid()) + "-" +
           std::to_string(static_cast<int>(GetParam())) + ".csv";
    std::mt19937 random(1);
    const std::vector<Kind> kinds = AllKinds(random);
    for (unsigned i = 0; i < 30; ++i) {
      // Not one after the other, so that there is something of all operations.
      cases_.emplace_back("tensor." + std::to_string(i), kinds[i * 29 % kinds.size()], i * 10 + 1,
                          HostsOf(GetParam(), kRanks));
    }
  }
  void TearDown() override { unlink(log_.c_str()); }

  /// A sample is a step, so what is decided is decided with other settings each time.
  Engine::Tuning Tuning() const {
    return {.options = {.warmup_samples = 0,
                        .steps_per_sample = 1,
                        .least_time = std::chrono::milliseconds(0)},
            .log = log_};
  }
  void Train(Engine& engine, int rank, Said& said) {
    if (rank == 0) {
      const Status started = engine.StartAutotune(Tuning());
      EXPECT_TRUE(started.ok()) << started.message();
    }
    for (int step = 0, over = 0; over < 3 && step < 1000 && !HasFailure(); ++step) {
      std::vector<int32_t> vector;
      Promise done;
      SumLarge(engine, rank, step, vector, done);
      RankStep tensors(cases_, static_cast<size_t>(rank), static_cast<unsigned>(step));
      tensors.Submit(engine);
      tensors.Check();
      const Status summed = done.Get();
      ASSERT_TRUE(summed.ok()) << summed.message();
      const int32_t wanted = kRanks * step + kRanks * (kRanks - 1) / 2;
      ASSERT_EQ(std::count(vector.begin(), vector.end(), wanted), kLarge);
      over += Sum(engine, "is over", rank == 0 && !said.Get().empty() ? 1 : 0);
    }
    MeetAgain(engine);
  }

  std::string log_;
  Cases cases_;
};

TEST_P(EngineAutotuneTest, AllResultsAreRightWhileSettingsChange) {
  Said said;
  EnginesMeet(GetParam(), kRanks, [&](Engine& engine, int rank) { Train(engine, rank, said); },
              {.say = said.Callback()});
  ASSERT_THAT(said.Get(), SizeIs(1));
  EXPECT_THAT(said.Get()[0], HasSubstr("autotune has chosen HOROVOD_FUSION_THRESHOLD="));
  const auto rows = Rows(log_);
  ASSERT_GT(rows.size(), 10U);
  EXPECT_EQ(rows.back().back(), "1");
  EXPECT_THAT(Values(rows, "tensor_fusion_threshold"), SizeIs(5));
  EXPECT_THAT(Values(rows, "cycle_time_ms"), SizeIs(4));
  EXPECT_THAT(Values(rows, "whole_bytes"), SizeIs(GetParam() == Way::kMemory ? 0 : 4));
  EXPECT_THAT(Values(rows, "window_bytes"), SizeIs(GetParam() == Way::kMemory ? 0 : 3));
}

INSTANTIATE_TEST_SUITE_P(Ways, EngineAutotuneTest,
                         ::testing::Values(Way::kMemory, Way::kTcp, Way::kHosts), NameOfWay);

TEST(EngineAutotune, RankZeroTunesOnce) {
  EnginesInThreads(2, [](Engine& engine, int rank) {
    const Status first = engine.StartAutotune({});
    EXPECT_EQ(first.ok(), rank == 0);
    const Status second = engine.StartAutotune({});
    EXPECT_EQ(second.code(), Code::kFailedPrecondition);
    EXPECT_THAT(second.message(),
                HasSubstr(rank == 0 ? "tunes already" : "rank 1 cannot tune: rank 0 does"));
    MeetAgain(engine);
  });
}

TEST(EngineAutotune, WithNothingToTry) {
  Said said;
  EnginesInThreads(2,
                   [](Engine& engine, int rank) {
                     if (rank == 0) {
                       const Engine::Tuning nothing = {
                           .what = {.fusion = false, .window = false, .points = false}};
                       EXPECT_TRUE(engine.StartAutotune(nothing).ok());
                     }
                     MeetAgain(engine);
                   },
                   {.say = said.Callback()});
  ASSERT_THAT(said.Get(), SizeIs(1));
  EXPECT_THAT(said.Get()[0], HasSubstr("there is nothing to tune"));
}

/// A barrier ends the window, because nothing is fused with it.
TEST(EngineWindow, WhatComesWithinItIsFused) {
  EnginesInThreads(
      2,
      [](Engine& engine, int) {
        std::vector<float> ones(20, 1);
        std::vector<Promise> done(ones.size());
        for (size_t i = 0; i < ones.size(); ++i) {
          const Status submitted = engine.AllReduce(Floats("t" + std::to_string(i), 1), &ones[i],
                                                    &ones[i], done[i].Callback());
          ASSERT_TRUE(submitted.ok()) << submitted.message();
        }
        MeetAgain(engine);
        for (Promise& one : done) EXPECT_TRUE(one.Get().ok());
        EXPECT_EQ(ones, std::vector<float>(ones.size(), 2));
        EXPECT_EQ(engine.watch().Count().operations, 2) << "one vector, and the barrier";
      },
      {.limits = {.window = std::chrono::hours(1)}});
}

TEST(EngineWindow, EndsByItself) {
  EnginesInThreads(3,
                   [](Engine& engine, int) {
                     for (int step = 0; step < 20; ++step) EXPECT_EQ(Sum(engine, "one", 1), 3);
                     MeetAgain(engine);
                   },
                   {.limits = {.window = std::chrono::milliseconds(2)}});
}

}  // namespace
}  // namespace tony::collective
