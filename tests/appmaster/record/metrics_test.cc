// Measurements to series and to the file, and that a file replaces another as a whole.
#include "appmaster/record/metrics.h"

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "common/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "os/files/files.h"
#include "tests/common/loop_driver.h"
#include "tests/os/temporary_folder.h"

namespace tony::appmaster {
namespace {

core::TaskMeasured Measured(int index, double seconds, int64_t memory) {
  core::TaskMeasured measured{{"worker", index}, {}, 1};
  measured.usage.seconds = seconds;
  measured.usage.memory_bytes = memory;
  return measured;
}

class MetricsTest : public ::testing::Test {
 protected:
  Metrics::Options Options(Duration pause) {
    return {"job-1", Path(), pause, {.types = {{"worker", 200}}}};
  }
  Metrics::Kept Count() {
    return [this] {
      ++kept_;
      driver_.Changed();
    };
  }
  std::string Path() const { return folder_ / "metrics.bin"; }
  /// The newest memory of a worker in the file.
  float MemoryInFile(int index) {
    Metrics reader(driver_.loop(), clock_, Options(std::chrono::hours(1)), [] {});
    reader.Restore(os::ReadFile(Path()).value_or(""));
    const core::MetricSeries* series = reader.metrics().Find({"worker", index}, "memory");
    return series == nullptr ? -1 : series->last();
  }

  os::TemporaryFolder folder_;
  LoopDriver driver_;
  FakeClock clock_;
  int kept_ = 0;
};

TEST_F(MetricsTest, TheFileFollowsTheMeasurements) {
  Metrics metrics(driver_.loop(), clock_, Options(Duration::zero()), Count());
  metrics.Take(Measured(0, 1, 100));
  ASSERT_TRUE(driver_.Await([this] { return kept_ == 1; }));
  EXPECT_EQ(MemoryInFile(0), 100);
  metrics.Take(Measured(0, 2, 200));
  ASSERT_TRUE(driver_.Await([this] { return kept_ == 2; }));
  EXPECT_EQ(MemoryInFile(0), 200);
}

TEST_F(MetricsTest, EarlierMeasurementsHaveTheirOwnTimes) {
  Metrics metrics(driver_.loop(), clock_, Options(std::chrono::hours(1)), Count());
  core::TaskMeasured newest = Measured(0, 1, 300);
  newest.usage.seconds = 12;
  core::TaskUsage earlier = newest.usage;
  earlier.memory_bytes = 100;
  earlier.seconds = 10;
  core::TaskUsage impossible = newest.usage;
  impossible.memory_bytes = 200;
  impossible.seconds = std::numeric_limits<double>::quiet_NaN();
  metrics.Take(newest, {earlier, impossible});
  const core::MetricSeries* series = metrics.metrics().Find({"worker", 0}, "memory");
  ASSERT_NE(series, nullptr);
  EXPECT_EQ(series->count(), 3);
  EXPECT_EQ(series->last(), 300);
  EXPECT_EQ(series->begin_millis(), clock_.UnixMillis() - 2000);
  EXPECT_EQ(series->last_millis(), clock_.UnixMillis());
}

TEST_F(MetricsTest, TheEndIsKeptAtOnce) {
  Metrics metrics(driver_.loop(), clock_, Options(std::chrono::hours(1)), Count());
  for (int i = 0; i < 200; ++i) metrics.Take(Measured(i, 1, i));
  metrics.Finish();
  EXPECT_EQ(kept_, 1);
  EXPECT_EQ(MemoryInFile(199), 199);
  EXPECT_FALSE(std::filesystem::exists(Path() + ".new"));
}

TEST_F(MetricsTest, WithoutMeasurementsThereIsNoFile) {
  Metrics metrics(driver_.loop(), clock_, Options(Duration::zero()), Count());
  metrics.Finish();
  EXPECT_FALSE(std::filesystem::exists(Path()));
}

TEST_F(MetricsTest, WhatAKilledOneHasLeftDoesNoHarm) {
  std::ofstream(Path() + ".new") << std::string(1 << 20, 'x');
  std::ofstream(Path()) << "TONYMET1 nonsense";
  Metrics metrics(driver_.loop(), clock_, Options(std::chrono::hours(1)), Count());
  metrics.Restore(os::ReadFile(Path()).value());
  metrics.Take(Measured(0, 1, 100));
  metrics.Finish();
  EXPECT_EQ(MemoryInFile(0), 100);
}

TEST_F(MetricsTest, AFolderThatIsGoneIsNoReasonToEnd) {
  Metrics metrics(driver_.loop(), clock_, Options(std::chrono::hours(1)), Count());
  std::filesystem::remove_all(folder_.path());
  metrics.Take(Measured(0, 1, 100));
  metrics.Finish();
  EXPECT_EQ(kept_, 0);
}

TEST_F(MetricsTest, AnotherMasterGoesOn) {
  {
    Metrics metrics(driver_.loop(), clock_, Options(std::chrono::hours(1)), Count());
    metrics.Take(Measured(0, 1, 100));
    metrics.Finish();
  }
  Metrics metrics(driver_.loop(), clock_, Options(std::chrono::hours(1)), Count());
  metrics.Restore(os::ReadFile(Path()).value());
  clock_.Advance(std::chrono::seconds(5));
  metrics.Take(Measured(0, 6, 300));
  const core::MetricSeries* series = metrics.metrics().Find({"worker", 0}, "memory");
  EXPECT_EQ(series->MakeImage().samples.size(), 2);
}

}  // namespace
}  // namespace tony::appmaster
