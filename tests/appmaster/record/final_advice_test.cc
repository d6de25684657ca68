// One line of advice from a job's events and metrics, as they are just before its end.
#include "appmaster/record/final_advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "rpc/convert/convert.h"

namespace tony::appmaster {
namespace {

using ::testing::StartsWith;

constexpr int64_t kBegin = 1'790'000'000'000;
constexpr int64_t kMinute = 60'000;

/// A worker that asks for 8 GiB and uses 1.
class FinalAdviceTest : public ::testing::Test {
 protected:
  FinalAdviceTest() {
    core::JobSubmitted submitted;
    submitted.job_id = "job-1";
    submitted.types = {{.name = "worker", .instances = 1, .memory_mb = 8192, .vcores = 1}};
    past_.push_back(rpc::ToProto(core::JobEvent{1, kBegin, submitted}));
    core::TaskChanged change;
    change.task = {"worker", 0};
    change.state = core::TaskState::kRunning;
    change.attempt = 1;
    past_.push_back(rpc::ToProto(core::JobEvent{2, kBegin, change}));
    past_.push_back(rpc::ToProto(
        core::JobEvent{3, kBegin, core::JobStateChanged{core::JobState::kRunning, 0, ""}}));
    for (int64_t millis = 0; millis < 10 * kMinute; millis += 1000) {
      core::TaskUsage usage;
      usage.seconds = static_cast<double>(millis) / 1000;
      usage.cpu_seconds = usage.seconds;
      usage.memory_bytes = usage.max_memory_bytes = int64_t{1} << 30;
      metrics_.Take({"worker", 0}, 1, usage, kBegin + millis);
    }
  }

  std::string AdviceAfter(int64_t millis, core::Outcome outcome) {
    core::Verdict verdict;
    verdict.outcome = outcome;
    return FinalAdvice(log_, metrics_, verdict, kBegin + millis);
  }
  void AppendPast() {
    for (v1::JobEvent& event : past_) log_.Append(std::move(event));
  }

  std::vector<v1::JobEvent> past_;
  rpc::EventLog log_;
  core::JobMetrics metrics_{{.types = {{"worker", 1}}}};
};

TEST_F(FinalAdviceTest, NamesWhatWasAskedForAndNotUsed) {
  AppendPast();
  EXPECT_THAT(AdviceAfter(10 * kMinute, core::Outcome::kSucceeded),
              StartsWith("Advice: Ask for 1280 MiB"));
}

TEST_F(FinalAdviceTest, AShortOrAFailedRunShowsNothing) {
  AppendPast();
  EXPECT_EQ(AdviceAfter(kMinute, core::Outcome::kSucceeded), "");
  EXPECT_EQ(AdviceAfter(10 * kMinute, core::Outcome::kFailed), "");
}

TEST_F(FinalAdviceTest, APastThatIsStillReadIsNotJudged) {
  log_.AwaitPast(3);
  EXPECT_EQ(AdviceAfter(10 * kMinute, core::Outcome::kSucceeded), "");
  log_.AddPast(std::move(past_));
  EXPECT_NE(AdviceAfter(10 * kMinute, core::Outcome::kSucceeded), "");
}

}  // namespace
}  // namespace tony::appmaster
