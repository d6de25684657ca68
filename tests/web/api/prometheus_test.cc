// The text for Prometheus: its format, line by line, and what of a measurement it has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/rpc/every_event.h"
#include "tests/web/api/api_case.h"

namespace tony::web {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Reads the text as strictly as the format is described: a family's HELP and TYPE stand once, in
/// this order, before all of its samples; no sample comes twice. Not thread safe.
class StrictReader {
 public:
  explicit StrictReader(const std::string& text) {
    EXPECT_TRUE(absl::EndsWith(text, "\n"));
    const std::vector<std::string> lines = absl::StrSplit(text, '\n');
    for (size_t i = 0; i + 1 < lines.size(); ++i) ReadLine(lines[i]);
  }

  std::map<std::string, std::string> types;  ///< by family
  std::map<std::string, double> samples;     ///< by "name{labels}"

 private:
  void ReadLine(const std::string& line) {
    static const std::regex help("# HELP ([a-z_]+) [^\\n]+");
    static const std::regex type("# TYPE ([a-z_]+) (counter|gauge)");
    static const std::regex sample(
        "([a-z_]+)\\{(([a-z_]+=\"([^\"\\\\\\n]|\\\\[\\\\\"n])*\",?)+)\\} (\\S+)");
    std::smatch found;
    if (std::regex_match(line, found, help)) {
      EXPECT_EQ(types.count(found[1]), 0u) << line;
      family_ = found[1];
    } else if (std::regex_match(line, found, type)) {
      EXPECT_EQ(found[1], family_) << line;
      EXPECT_TRUE(types.emplace(found[1], found[2]).second) << line;
      EXPECT_EQ(absl::EndsWith(family_, "_total"), found[2] == "counter") << line;
    } else if (std::regex_match(line, found, sample)) {
      EXPECT_EQ(found[1], family_) << line;
      EXPECT_EQ(types.count(family_), 1u) << line;
      EXPECT_NE(found[2].str().back(), ',') << line;
      double value = 0;
      EXPECT_TRUE(absl::SimpleAtod(found[5].str(), &value)) << line;
      EXPECT_TRUE(samples.emplace(line.substr(0, line.rfind(' ')), value).second) << line;
    } else {
      ADD_FAILURE() << "no line of the format: " << line;
    }
  }

  std::string family_;
};

class PrometheusTest : public ApiTest {
 protected:
  StrictReader Read() { return StrictReader(Get("metrics").body); }
  /// The value of a sample of worker:0 with further labels.
  static double Of(const StrictReader& text, const std::string& name,
                   const std::string& more = "") {
    const std::string sample =
        absl::StrCat(name, R"({job="job-1",task="worker:0",attempt="1")", more, "}");
    const auto found = text.samples.find(sample);
    EXPECT_NE(found, text.samples.end()) << sample;
    return found == text.samples.end() ? -1 : found->second;
  }
};

TEST_F(PrometheusTest, HasAllThatIsMeasured) {
  job_.Task(0, core::TaskState::kRunning);
  core::TaskUsage usage = rpc::FullUsage();
  usage.progress->values = {{"loss", -0.25}, {"a \"name\"", 2}};
  job_.Measure(0, usage);
  const StrictReader text = Read();
  EXPECT_EQ(Of(text, "tony_task_cpu_seconds_total"), 0.1);
  EXPECT_EQ(Of(text, "tony_task_log_bytes_total"), 42);
  EXPECT_EQ(Of(text, "tony_task_memory_proportional_bytes"), 14);
  EXPECT_EQ(Of(text, "tony_task_pressure_waiting_seconds_total", R"(,resource="cpu")"), 23.5);
  EXPECT_EQ(Of(text, "tony_task_pressure_waiting_seconds_total", R"(,resource="memory")"), 24.5);
  EXPECT_EQ(Of(text, "tony_task_pressure_waiting_seconds_total", R"(,resource="io")"), 25.5);
  EXPECT_EQ(Of(text, "tony_task_cpu_periods_total"), 20);
  EXPECT_EQ(Of(text, "tony_task_cpu_throttled_periods_total"), 21);
  EXPECT_EQ(Of(text, "tony_task_cpu_throttled_seconds_total"), 22.5);
  EXPECT_EQ(Of(text, "tony_task_gpu_utilization_ratio"), 0.9725);
  EXPECT_EQ(Of(text, "tony_gpu_utilization_ratio", R"(,gpu="1")"), 0.985);
  EXPECT_EQ(Of(text, "tony_gpu_memory_total_bytes", R"(,gpu="1")"), 16);
  EXPECT_EQ(Of(text, "tony_gpu_power_watts", R"(,gpu="1")"), 301.5);
  EXPECT_EQ(Of(text, "tony_gpu_temperature_celsius", R"(,gpu="1")"), 61);
  EXPECT_EQ(Of(text, "tony_gpu_ecc_errors_total", R"(,gpu="1")"), 17);
  EXPECT_EQ(Of(text, "tony_gpu_clock_lowered", R"(,gpu="1",reason="power_cap")"), 1);
  EXPECT_EQ(Of(text, "tony_gpu_clock_lowered", R"(,gpu="1",reason="idle")"), 0);
  EXPECT_EQ(Of(text, "tony_collective_waited_for_seconds_total"),
            usage.collective->waited_for_seconds);
  EXPECT_EQ(Of(text, "tony_task_step"), 30);
  EXPECT_EQ(Of(text, "tony_task_step_age_seconds"), 33.5);
  EXPECT_EQ(Of(text, "tony_task_report", R"(,name="loss")"), -0.25);
  EXPECT_EQ(Of(text, "tony_task_report", R"(,name="a \"name\"")"), 2);
}

TEST_F(PrometheusTest, HasNothingThatIsUnknown) {
  job_.Task(0, core::TaskState::kRunning);
  job_.Measure(0, core::TaskUsage{});
  const StrictReader text = Read();
  for (const char* const part : {"gpu", "group", "pressure", "throttled", "collective", "step",
                                 "report", "log_bytes", "sent", "proportional"}) {
    for (const auto& [family, type] : text.types) EXPECT_THAT(family, Not(HasSubstr(part)));
  }
  EXPECT_EQ(Of(text, "tony_task_memory_bytes"), 0);
}

TEST_F(PrometheusTest, NumbersThatJsonDoesNotHave) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  job_.Task(0, core::TaskState::kRunning);
  core::TaskUsage usage;
  usage.progress =
      core::Progress{.values = {{"nan", std::nan("")}, {"more", kInfinity}, {"less", -kInfinity}}};
  // A series takes no such value, but its name is known.
  job_.Measure(0, usage);
  const std::string body = Get("metrics").body;
  EXPECT_THAT(body, HasSubstr("name=\"nan\"} NaN\n"));
  EXPECT_THAT(body, HasSubstr("name=\"more\"} +Inf\n"));
  EXPECT_THAT(body, HasSubstr("name=\"less\"} -Inf\n"));
}

// A program that invents names all the time makes no more series than a job may have.
TEST_F(PrometheusTest, NamesOfReportsAreBoundedOverTheLifeOfAJob) {
  std::set<std::string> names;
  for (int task = 0; task < 4; ++task) job_.Task(task, core::TaskState::kRunning);
  for (int round = 0; round < 100; ++round) {
    for (int task = 0; task < 4; ++task) {
      core::TaskUsage usage;
      usage.progress = core::Progress{};
      for (int i = 0; i < 16; ++i) {
        usage.progress->values[absl::StrCat("n", task, "_", round, "_", i)] = i;
      }
      job_.Measure(task, usage);
    }
    for (const auto& [sample, value] : Read().samples) {
      const size_t begin = sample.find("name=\"");
      if (begin != std::string::npos) names.insert(sample.substr(begin));
    }
  }
  EXPECT_EQ(names.size(), 64u);
}

}  // namespace
}  // namespace tony::web
