#include "core/metrics/series.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace tony::core {
namespace {

constexpr int64_t kStart = 1'790'000'000'000;  // a multiple of ten seconds
constexpr int64_t kSecond = 1000;
constexpr int64_t kWeek = int64_t{7} * 24 * 3600 * kSecond;

/// The least, the greatest and the number of non-empty points.
struct Summary {
  float min = std::numeric_limits<float>::infinity();
  float max = -std::numeric_limits<float>::infinity();
  int filled = 0;
};

Summary Summarize(const MetricPoints& read) {
  Summary summary;
  for (const MetricBucket& point : read.points) {
    if (point.empty()) continue;
    ++summary.filled;
    summary.min = std::min(summary.min, point.min);
    summary.max = std::max(summary.max, point.max);
    EXPECT_LE(point.min, point.mean);
    EXPECT_LE(point.mean, point.max);
  }
  return summary;
}

TEST(MetricSeriesTest, IsEmptyAtFirst) {
  const MetricSeries series({});
  EXPECT_TRUE(series.empty());
  EXPECT_TRUE(series.Read(0, kStart, 100).points.empty());
  EXPECT_TRUE(std::isnan(series.last()));
}

TEST(MetricSeriesTest, ReadsSamplesAsTheyCame) {
  MetricSeries series({});
  for (int i = 0; i < 10; ++i) series.Add(kStart + i * kSecond, i);
  const MetricPoints read = series.Read(kStart, kStart + 10 * kSecond, 11);
  EXPECT_EQ(read.begin_millis, kStart);
  EXPECT_EQ(read.step_millis, kSecond);
  ASSERT_EQ(read.points.size(), 10);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(read.points[static_cast<size_t>(i)].mean, i);
}

TEST(MetricSeriesTest, IgnoresWhatIsNoNumber) {
  MetricSeries series({});
  series.Add(kStart, std::nan(""));
  series.Add(kStart, 1e300);
  series.Add(kStart, -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(series.empty());
}

TEST(MetricSeriesTest, TimeThatRunsBackwardsStandsStill) {
  MetricSeries series({});
  series.Add(kStart, 1);
  series.Add(kStart - kWeek, 2);
  EXPECT_EQ(series.last_millis(), kStart);
  EXPECT_EQ(series.last(), 2);
  EXPECT_EQ(Summarize(series.Read(kStart, kStart + kSecond, 10)).max, 2);
}

TEST(MetricSeriesTest, AWeekKeepsItsExtremesInFixedMemory) {
  MetricSeries series({});
  std::mt19937 random(1);
  std::uniform_real_distribution<float> usual(10, 20);
  double sum = 0;
  int64_t count = 0;
  for (int64_t at = 0; at < kWeek; at += kSecond) {
    const float value = at == kWeek / 3 ? 99.F : at == kWeek / 2 ? 1.F : usual(random);
    series.Add(kStart + at, value);
    sum += value;
    ++count;
  }
  const MetricPoints all = series.Read(kStart, kStart + kWeek, 600);
  const Summary summary = Summarize(all);
  EXPECT_EQ(summary.min, 1);
  EXPECT_EQ(summary.max, 99);
  EXPECT_GE(summary.filled, SeriesSize().coarse_buckets / 2 - 1);
  double mean = 0;
  for (const MetricBucket& point : all.points) mean += point.empty() ? 0 : point.mean;
  EXPECT_NEAR(mean / summary.filled, sum / static_cast<double>(count), 0.05);
  const MetricSeries::Image image = series.MakeImage();
  EXPECT_EQ(image.samples.size(), 120);
  EXPECT_EQ(image.fine.size(), 180);
  EXPECT_LE(image.coarse.size(), 256);
}

TEST(MetricSeriesTest, ThePastHourIsReadFromFineBuckets) {
  MetricSeries series({});
  for (int64_t at = 0; at < kWeek / 7; at += kSecond) {
    series.Add(kStart + at, static_cast<double>(at % 60'000 / kSecond));
  }
  const int64_t end = kStart + kWeek / 7;
  const MetricPoints read = series.Read(end - 1000 * kSecond, end, 101);
  EXPECT_EQ(read.step_millis, MetricSeries::kFineMillis);
  EXPECT_EQ(Summarize(read).filled, 100);
}

TEST(MetricSeriesTest, GapsStayGaps) {
  MetricSeries series({});
  series.Add(kStart, 1);
  series.Add(kStart + 3600 * kSecond, 2);
  const MetricPoints read = series.Read(kStart, kStart + 3601 * kSecond, 100);
  EXPECT_EQ(Summarize(read).filled, 2);
  EXPECT_EQ(read.points.back().mean, 2);
}

TEST(MetricSeriesTest, NeverMorePointsThanWanted) {
  MetricSeries series({});
  for (int64_t at = 0; at < 5000; ++at) series.Add(kStart + at * 777, static_cast<double>(at));
  const int64_t end = kStart + 5000 * 777;
  std::mt19937_64 random(2);
  std::uniform_int_distribution<int64_t> times(kStart - 10'000'000, end + 10'000'000);
  for (int round = 0; round < 2000; ++round) {
    const int64_t from = round == 0 ? 0 : times(random);
    const int64_t to = times(random);
    const int points = 1 + round % 300;
    const MetricPoints read = series.Read(from, to, points);
    ASSERT_LE(read.points.size(), static_cast<size_t>(points));
    if (from >= to) {
      EXPECT_TRUE(read.points.empty());
      continue;
    }
    EXPECT_LE(read.begin_millis, from);
    EXPECT_GE(read.begin_millis + static_cast<int64_t>(read.points.size()) * read.step_millis, to);
  }
}

TEST(MetricSeriesTest, AnImageIsRestored) {
  MetricSeries series({});
  for (int64_t at = 0; at < 10'000; ++at) series.Add(kStart + at * kSecond, std::sin(at / 100.0));
  MetricSeries copy({});
  copy.Restore(series.MakeImage());
  const int64_t end = kStart + 10'000 * kSecond;
  for (const int64_t from : {kStart, end - 1000 * kSecond, end - 100 * kSecond}) {
    const MetricPoints expected = series.Read(from, end, 300);
    const MetricPoints read = copy.Read(from, end, 300);
    EXPECT_EQ(read.step_millis, expected.step_millis);
    ASSERT_EQ(read.points.size(), expected.points.size());
    for (size_t i = 0; i < read.points.size(); ++i) {
      ASSERT_EQ(read.points[i].empty(), expected.points[i].empty()) << i;
      if (read.points[i].empty()) continue;
      ASSERT_EQ(read.points[i].min, expected.points[i].min);
      ASSERT_EQ(read.points[i].max, expected.points[i].max);
    }
  }
  copy.Add(end, 5);
  EXPECT_EQ(Summarize(copy.Read(kStart, end + kSecond, 500)).max, 5);
}

TEST(MetricSeriesTest, ASmallerSeriesTakesAnImageToo) {
  MetricSeries series({});
  for (int64_t at = 0; at < 10'000; ++at)
    series.Add(kStart + at * kSecond, static_cast<double>(at));
  MetricSeries small(SeriesSize::Within(0));
  small.Restore(series.MakeImage());
  const Summary summary = Summarize(small.Read(kStart, kStart + 10'000 * kSecond, 500));
  EXPECT_EQ(summary.min, 0);
  EXPECT_EQ(summary.max, 9999);
  EXPECT_LE(small.MakeImage().coarse.size(), 16);
}

TEST(MetricSeriesTest, DamagedImagesDoNoHarm) {
  MetricSeries::Image image;
  image.samples = {{-5, 1}, {int64_t{1} << 62, 2}, {kStart, std::nanf("")}, {kStart, 3}};
  image.fine_begin_millis = std::numeric_limits<int64_t>::max() - 5;
  image.fine = {{1, 1, 1}, {2, 2, 2}};
  image.coarse_begin_millis = kStart;
  image.coarse_step_millis = 3;
  image.coarse = {{1, 1, 1}};
  MetricSeries series({});
  series.Restore(image);
  EXPECT_EQ(series.last(), 3);
  EXPECT_EQ(series.begin_millis(), kStart);
}

TEST(MetricSeriesTest, BucketsOfAThousandYearsEndWhereTimeDoes) {
  MetricSeries::Image image;
  image.coarse_begin_millis = kStart;
  image.coarse_step_millis = MetricSeries::kFineMillis << 40;
  image.coarse.assign(2000, {1, 1, 1});
  MetricSeries series({});
  series.Restore(image);
  EXPECT_EQ(series.begin_millis(), kStart);
  EXPECT_EQ(series.last_millis(), kStart);
}

TEST(SeriesSizeTest, KeepsToItsBytes) {
  EXPECT_EQ(SeriesSize::Within(1'000'000).coarse_buckets, SeriesSize().coarse_buckets);
  for (size_t bytes = 900; bytes < 8000; bytes += 50) {
    EXPECT_LE(SeriesSize::Within(bytes).bytes(), bytes);
  }
}

}  // namespace
}  // namespace tony::core
