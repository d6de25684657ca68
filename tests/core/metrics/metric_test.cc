#include "core/metrics/metric.h"

#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tony::core {
namespace {

using testing::Contains;
using testing::Key;
using testing::Not;
using testing::Pair;

/// The values by their names.
std::map<std::string, double> Values(const TaskUsage* before, const TaskUsage& now) {
  std::map<std::string, double> values;
  for (const MetricValue& value : MetricValues(before, now)) {
    const std::string name =
        value.meaning == MetricValue::kNone
            ? absl::StrCat(kReported, value.reported)
            : std::string(MetricMeanings()[static_cast<size_t>(value.meaning)].name);
    EXPECT_TRUE(values.emplace(name, value.value).second) << name;
  }
  return values;
}

TEST(MetricTest, NamesAreUnique) {
  std::set<std::string> names;
  for (const MetricMeaning& meaning : MetricMeanings()) {
    EXPECT_TRUE(names.insert(std::string(meaning.name)).second) << meaning.name;
    EXPECT_FALSE(meaning.unit.empty() || meaning.title.empty()) << meaning.name;
  }
}

TEST(MetricTest, WhatIsNotKnownIsLeftOut) {
  TaskUsage usage;
  usage.memory_bytes = 100;
  usage.processes = 2;
  const auto values = Values(nullptr, usage);
  EXPECT_EQ(values, (std::map<std::string, double>{{"memory", 100}, {"processes", 2}}));
}

TEST(MetricTest, RatesAreByTheExecutorsClock) {
  TaskUsage before;
  before.seconds = 10;
  before.cpu_seconds = 5;
  before.read_bytes = 1000;
  before.network.sent_bytes = 0;
  before.group = {.periods = 100, .throttled_periods = 10, .cpu_wait_seconds = 1};
  TaskUsage now = before;
  now.seconds = 12;
  now.cpu_seconds = 8;
  now.read_bytes = 5000;
  now.network.sent_bytes = 600;
  now.group = {.periods = 140, .throttled_periods = 20, .cpu_wait_seconds = 2};
  before.printed_bytes = 100;
  now.printed_bytes = 500;
  const auto values = Values(&before, now);
  EXPECT_THAT(values, Contains(Pair("cpu", 1.5)));
  EXPECT_THAT(values, Contains(Pair("printed", 200)));
  EXPECT_THAT(values, Contains(Pair("read", 2000)));
  EXPECT_THAT(values, Contains(Pair("sent", 300)));
  EXPECT_THAT(values, Contains(Pair("throttled", 0.25)));
  EXPECT_THAT(values, Contains(Pair("cpu_wait", 0.5)));
  EXPECT_THAT(values, Not(Contains(Key("received")))) << "it is not known";
}

TEST(MetricTest, ACounterThatFallsCountsAsNoGrowth) {
  TaskUsage before;
  before.seconds = 1;
  before.cpu_seconds = 5;
  TaskUsage now;
  now.seconds = 2;
  now.cpu_seconds = 4;
  EXPECT_THAT(Values(&before, now), Contains(Pair("cpu", 0)));
}

TEST(MetricTest, AnExecutorWithoutClockHasNoRates) {
  const TaskUsage before;
  TaskUsage now;
  now.cpu_seconds = 4;
  EXPECT_THAT(Values(&before, now), Not(Contains(Key("cpu"))));
}

TEST(MetricTest, ReportsOfTheProgram) {
  TaskUsage usage;
  usage.progress = Progress{.step = 12, .steps_per_second = 2.5, .values = {{"loss", 0.5}}};
  const auto values = Values(nullptr, usage);
  EXPECT_THAT(values, Contains(Pair("step", 12)));
  EXPECT_THAT(values, Contains(Pair("steps", 2.5)));
  EXPECT_THAT(values, Contains(Pair("report.loss", 0.5)));
  usage.progress = Progress{.phase = "checkpoint"};
  EXPECT_THAT(Values(nullptr, usage), Not(Contains(Key("step"))));
}

TEST(MetricTest, SumsOverGpus) {
  TaskUsage usage;
  usage.gpu_utilization = 40;
  usage.gpu_memory_bytes = 7;
  usage.gpus = {{.power_watts = 100, .temperature = 50, .slowed = 1},
                {.power_watts = 150, .temperature = 70, .slowed = 4, .ecc_errors = 3}};
  const auto values = Values(nullptr, usage);
  EXPECT_THAT(values, Contains(Pair("gpu", 40)));
  EXPECT_THAT(values, Contains(Pair("gpu_power", 250)));
  EXPECT_THAT(values, Contains(Pair("gpu_temperature", 70)));
  EXPECT_THAT(values, Contains(Pair("gpu_slowed", 1))) << "an idle GPU is not slowed";
  EXPECT_THAT(values, Contains(Pair("gpu_errors", 3)));
}

TEST(MetricTest, SharesOfTheCollective) {
  TaskUsage before;
  before.seconds = 1;
  TaskUsage now;
  now.seconds = 3;
  now.collective = CollectiveUsage{.bytes = 400, .operation_seconds = 1};
  const auto values = Values(&before, now);
  EXPECT_THAT(values, Contains(Pair("exchanged", 200)));
  EXPECT_THAT(values, Contains(Pair("exchanging", 0.5)));
}

}  // namespace
}  // namespace tony::core
