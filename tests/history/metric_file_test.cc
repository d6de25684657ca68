#include "history/metric_file.h"

#include <zlib.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tony/v1/metrics.pb.h"

namespace tony::history {
namespace {

using core::JobMetrics;

constexpr int64_t kStart = 1'790'000'000'000;
const std::vector<JobMetrics::Type> kTypes = {{"worker", 8}, {"ps", 1}};

JobMetrics Measured(int seconds) {
  JobMetrics metrics({.types = kTypes});
  for (int second = 0; second < seconds; ++second) {
    const int64_t now = kStart + int64_t{second} * 1000;
    for (int i = 0; i < 8; ++i) {
      core::TaskUsage usage;
      usage.seconds = second;
      usage.cpu_seconds = 0.5 * second;
      usage.memory_bytes = 1000 + i;
      usage.progress = core::Progress{.step = second, .values = {{"loss", 0.25}}};
      metrics.Take({"worker", i}, 1, usage, now);
    }
    metrics.AddBands(now);
  }
  return metrics;
}

std::string Whole(const JobMetrics& metrics, size_t part = 1000) {
  MetricFileWriter writer(metrics, {"job-1", kTypes, kStart});
  std::string bytes;
  for (std::string next = writer.Next(part); !next.empty(); next = writer.Next(part)) bytes += next;
  return bytes;
}

/// Reads into new metrics; counts the series.
struct Read {
  explicit Read(absl::string_view bytes)
      : result(ReadMetricFile(
            bytes, [this](const rpc::MetricFileHeader& header) { types = header.types.size(); },
            [this](const JobMetrics::Image& image) {
              ++series;
              metrics.Restore(image);
            })) {}

  size_t types = 0;
  size_t series = 0;
  JobMetrics metrics{{.types = kTypes}};
  absl::StatusOr<MetricFileReading> result;
};

TEST(MetricFileTest, KeepsEverySeries) {
  const JobMetrics metrics = Measured(500);
  const Read read(Whole(metrics));
  ASSERT_TRUE(read.result.ok()) << read.result.status();
  EXPECT_EQ(read.result->trouble, "");
  EXPECT_EQ(read.result->header.job_id, "job-1");
  EXPECT_EQ(read.result->header.written_millis, kStart);
  EXPECT_EQ(read.types, 2);
  EXPECT_EQ(read.series, metrics.series());
  EXPECT_EQ(read.metrics.Names(), metrics.Names());
  const int64_t end = kStart + 500'000;
  for (const char* const name : {"cpu", "memory", "step", "report.loss"}) {
    const auto expected = metrics.Find({"worker", 3}, name)->Read(kStart, end, 100);
    const auto found = read.metrics.Find({"worker", 3}, name)->Read(kStart, end, 100);
    ASSERT_EQ(found.points.size(), expected.points.size());
    for (size_t i = 0; i < found.points.size(); ++i) {
      EXPECT_EQ(found.points[i].max, expected.points[i].max) << name << i;
    }
  }
  EXPECT_EQ(read.metrics.FindBand("worker", "memory")->at(2)->last(), 1004);
}

TEST(MetricFileTest, NoMetricsAreAFileToo) {
  const Read read(Whole(JobMetrics({.types = kTypes})));
  ASSERT_TRUE(read.result.ok());
  EXPECT_EQ(read.series, 0);
}

TEST(MetricFileTest, SeriesThatCameMeanwhileAreLeftForTheNextFile) {
  JobMetrics metrics({.types = kTypes});
  core::TaskUsage usage;
  metrics.Take({"worker", 0}, 1, usage, kStart);
  const size_t before = metrics.series();
  MetricFileWriter writer(metrics, {"job-1", kTypes, kStart});
  std::string bytes = writer.Next(1);
  metrics.Take({"ps", 0}, 1, usage, kStart);
  for (std::string next = writer.Next(1); !next.empty(); next = writer.Next(1)) bytes += next;
  EXPECT_EQ(Read(bytes).series, before);
}

TEST(MetricFileTest, ACutFileIsReadUpToItsLastWholeRecord) {
  const std::string bytes = Whole(Measured(3));
  size_t most = 0;
  for (size_t length = 0; length < bytes.size(); length += 7) {
    const Read read(absl::string_view(bytes).substr(0, length));
    EXPECT_GE(read.series, most);
    most = read.series;
    if (read.result.ok() && !read.result->trouble.empty()) {
      EXPECT_THAT(read.result->trouble, testing::HasSubstr("cut off or damaged at byte"));
    }
  }
  EXPECT_GT(most, 0);
}

TEST(MetricFileTest, ADamagedRecordEndsTheReading) {
  const std::string whole = Whole(Measured(3));
  for (size_t at = 0; at < whole.size(); at += 11) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x40);
    const Read read(bytes);
    EXPECT_TRUE(!read.result.ok() || !read.result->trouble.empty()) << at;
  }
}

/// A record around `payload`, as a newer version might write it.
std::string Record(const std::string& payload) {
  std::string bytes;
  const auto append = [&bytes](uint32_t number) {
    for (int byte = 0; byte < 4; ++byte) bytes += static_cast<char>(number >> (8 * byte) & 0xff);
  };
  append(static_cast<uint32_t>(payload.size()));
  append(static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(payload.data()),
                                       static_cast<z_size_t>(payload.size()))));
  return bytes + payload;
}

TEST(MetricFileTest, ANewerVersionIsSaid) {
  v1::MetricFileHeader header;
  header.set_version(rpc::kMetricFileVersion + 1);
  const Read read(absl::StrCat("TONYMET1", Record(header.SerializeAsString())));
  EXPECT_EQ(read.result.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(read.result.status().message()),
              testing::HasSubstr("written by a newer version of tony (version 2 of the file; this "
                                 "program reads up to 1)"));
}

// A newer version that only adds kinds of records, or fields, need not change the file's version.
TEST(MetricFileTest, NewKindsOfRecordsAreSkippedAndTheRestIsRead) {
  const JobMetrics metrics = Measured(10);
  const std::string whole = Whole(metrics);
  const std::string unknown = Record("\xfa\x3e\x03new");  // field 1007, three bytes
  const size_t behind_header = 16 + static_cast<unsigned char>(whole[8]);  // its length is small
  const Read read(
      absl::StrCat(whole.substr(0, behind_header), unknown, whole.substr(behind_header)));
  ASSERT_TRUE(read.result.ok()) << read.result.status();
  EXPECT_EQ(read.result->trouble, "");
  EXPECT_EQ(read.metrics.Names(), metrics.Names());
}

TEST(MetricFileTest, OtherFilesAreRefused) {
  EXPECT_EQ(Read("").result.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Read("TONYMET1").result.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Read("PK\x03\x04 something else").result.status().code(),
            absl::StatusCode::kInvalidArgument);
  // A length that would be four gigabytes.
  EXPECT_FALSE(Read(absl::StrCat("TONYMET1", std::string(100, '\xff'))).result.ok());
}

}  // namespace
}  // namespace tony::history
