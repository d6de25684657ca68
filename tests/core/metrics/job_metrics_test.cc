#include "core/metrics/job_metrics.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tony::core {
namespace {

using testing::ElementsAre;

constexpr int64_t kStart = 1'790'000'000'000;
constexpr int64_t kSecond = 1000;

TaskUsage Usage(int64_t second, double cores, int64_t memory = 1000) {
  TaskUsage usage;
  usage.seconds = static_cast<double>(second);
  usage.cpu_seconds = cores * static_cast<double>(second);
  usage.memory_bytes = memory;
  return usage;
}

TEST(JobMetricsTest, ASeriesForEachMetricOfEachTask) {
  JobMetrics metrics({.types = {{"worker", 2}}});
  for (int i = 0; i < 3; ++i) {
    metrics.Take({"worker", 0}, 1, Usage(i, 2), kStart + i * kSecond);
    metrics.Take({"worker", 1}, 1, Usage(i, 1), kStart + i * kSecond);
  }
  EXPECT_THAT(metrics.Names(), ElementsAre("cpu", "memory", "read", "written", "processes"));
  EXPECT_EQ(metrics.Find({"worker", 0}, "cpu")->last(), 2);
  EXPECT_EQ(metrics.Find({"worker", 1}, "cpu")->last(), 1);
  EXPECT_EQ(metrics.Find({"worker", 2}, "cpu"), nullptr);
  EXPECT_EQ(metrics.Find({"worker", 0}, "gpu"), nullptr);
  EXPECT_EQ(metrics.Find({"worker", 0}, "nonsense"), nullptr);
  EXPECT_EQ(metrics.FindBand("worker", "cpu"), std::nullopt) << "two tasks need no band";
}

TEST(JobMetricsTest, ARestartMakesNoRateAcrossRuns) {
  JobMetrics metrics({.types = {{"worker", 1}}});
  metrics.Take({"worker", 0}, 1, Usage(100, 1), kStart);
  metrics.Take({"worker", 0}, 2, Usage(200, 4), kStart + kSecond);
  EXPECT_EQ(metrics.Find({"worker", 0}, "cpu"), nullptr);
  metrics.Take({"worker", 0}, 2, Usage(201, 4), kStart + 2 * kSecond);
  EXPECT_EQ(metrics.Find({"worker", 0}, "cpu")->last(), 4);
}

TEST(JobMetricsTest, BandsOverTheTasksOfAType) {
  JobMetrics metrics({.types = {{"worker", 11}, {"ps", 1}}});
  for (int i = 0; i < 11; ++i) metrics.Take({"worker", i}, 1, Usage(1, 0, i), kStart);
  metrics.Take({"ps", 0}, 1, Usage(1, 0, 5000), kStart);
  metrics.AddBands(kStart);
  const auto band = metrics.FindBand("worker", "memory");
  ASSERT_TRUE(band.has_value());
  std::vector<float> lines;
  for (const MetricSeries* line : *band) lines.push_back(line->last());
  EXPECT_THAT(lines, ElementsAre(0, 1, 5, 9, 10));
  EXPECT_EQ(metrics.FindBand("ps", "memory"), std::nullopt);
  EXPECT_EQ(metrics.FindBand("worker", "gpu"), std::nullopt);
}

TEST(JobMetricsTest, ATaskThatIsSilentLeavesTheBand) {
  JobMetrics metrics({.types = {{"worker", 8}}});
  for (int i = 0; i < 8; ++i) metrics.Take({"worker", i}, 1, Usage(1, 0, i), kStart);
  const int64_t later = kStart + 60 * kSecond;
  for (int i = 0; i < 4; ++i) metrics.Take({"worker", i}, 1, Usage(60, 0, i), later);
  metrics.AddBands(later);
  EXPECT_EQ(metrics.FindBand("worker", "memory")->back()->last(), 3);
}

TEST(JobMetricsTest, AWeekOfTenThousandTasksStaysWithinTheMemory) {
  JobMetrics metrics({.bytes = 64 << 20, .types = {{"worker", 10'000}}});
  TaskUsage usage = Usage(1, 1);
  usage.network = {1, 2, 3, 4};
  usage.group = {1, 2, 3, 4, 5, 6, 7, 8};
  usage.progress = Progress{.step = 1, .steps_per_second = 1};
  // Half of the tasks for two samples, and one of them for a week.
  for (int i = 0; i < 10'000; ++i) {
    metrics.Take({"worker", i}, 1, usage, kStart);
    usage.seconds += 1;
    metrics.Take({"worker", i}, 1, usage, kStart + kSecond);
  }
  metrics.AddBands(kStart + kSecond);
  EXPECT_NE(metrics.Find({"worker", 9'999}, "cpu"), nullptr);
  EXPECT_NE(metrics.Find({"worker", 9'999}, "memory"), nullptr);
  EXPECT_NE(metrics.Find({"worker", 9'999}, "steps"), nullptr);
  size_t bytes = 0;
  for (size_t i = 0; i < metrics.series(); ++i) {
    const bool band = metrics.MakeImage(i).quantile.has_value();
    bytes += band ? SeriesSize().bytes() : SeriesSize::Within(0).bytes();
  }
  EXPECT_LE(bytes, size_t{64} << 20);
  EXPECT_GT(metrics.left_out(), 0) << "the least useful metrics have no place";
}

TEST(JobMetricsTest, ASmallJobHasFullSeries) {
  JobMetrics metrics({.types = {{"worker", 4}}});
  for (int i = 0; i < 300; ++i) {
    metrics.Take({"worker", 0}, 1, Usage(i, 1), kStart + i * kSecond);
  }
  EXPECT_EQ(metrics.Find({"worker", 0}, "memory")->MakeImage().samples.size(), 120);
  EXPECT_EQ(metrics.left_out(), 0);
}

TEST(JobMetricsTest, ProgramsThatInventNamesAreBounded) {
  JobMetrics metrics({.types = {{"worker", 1}}});
  for (int i = 0; i < 1000; ++i) {
    TaskUsage usage = Usage(i, 1);
    usage.progress = Progress{.step = i, .values = {{absl::StrCat("name", i), 1}}};
    metrics.Take({"worker", 0}, 1, usage, kStart + i * kSecond);
  }
  EXPECT_LE(metrics.Names().size(), 64);
  EXPECT_NE(metrics.Find({"worker", 0}, "report.name3"), nullptr);
  EXPECT_GT(metrics.left_out(), 900);
}

TEST(JobMetricsTest, TasksThatTheJobDoesNotHaveAreIgnored) {
  JobMetrics metrics({.types = {{"worker", 1}}});
  metrics.Take({"worker", 1}, 1, Usage(1, 1), kStart);
  metrics.Take({"worker", -1}, 1, Usage(1, 1), kStart);
  metrics.Take({"else", 0}, 1, Usage(1, 1), kStart);
  EXPECT_EQ(metrics.series(), 0);
}

TEST(JobMetricsTest, ImagesRestoreTasksBandsAndReports) {
  const JobMetrics::Options options{.types = {{"worker", 9}}};
  JobMetrics metrics(options);
  for (int second = 0; second < 5; ++second) {
    for (int i = 0; i < 9; ++i) {
      TaskUsage usage = Usage(second, 1, i);
      usage.progress = Progress{.step = second, .values = {{"loss", 0.5}}};
      metrics.Take({"worker", i}, 1, usage, kStart + second * kSecond);
    }
    metrics.AddBands(kStart + second * kSecond);
  }
  JobMetrics restored(options);
  // In any order, and with some that belong to no task of this job.
  for (size_t i = metrics.series(); i > 0; --i) restored.Restore(metrics.MakeImage(i - 1));
  JobMetrics::Image foreign = metrics.MakeImage(0);
  foreign.task = {"worker", 9};
  restored.Restore(foreign);
  foreign.task = {"nobody", -1};
  foreign.quantile = 0.5;
  restored.Restore(foreign);
  EXPECT_EQ(restored.series(), metrics.series());
  EXPECT_EQ(restored.Names(), metrics.Names());
  EXPECT_EQ(restored.Find({"worker", 8}, "report.loss")->last(), 0.5);
  EXPECT_EQ(restored.FindBand("worker", "memory")->at(2)->last(), 4);
  EXPECT_EQ(restored.Find({"worker", 3}, "cpu")->last(), 1);
}

}  // namespace
}  // namespace tony::core
