#include "client/workflow/local_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "absl/status/status.h"
#include "tests/os/temporary_folder.h"

namespace tony::client {
namespace {

using ::testing::HasSubstr;

class LocalStepTest : public ::testing::Test {
 protected:
  LocalStep Open(const std::string& key = "flow|train") {
    return LocalStep::Open(folder_.path() + "/local", key).value();
  }

  os::TemporaryFolder folder_;
};

TEST_F(LocalStepTest, ARecordIsReadAsItWasWritten) {
  const LocalStep step = Open();
  EXPECT_EQ(step.Read()->key, "");
  ASSERT_TRUE(step.Write({"flow|train", "airflow", "local-1", 2, 1234}).ok());
  const StepRecord record = Open().Read().value();
  EXPECT_EQ(record.key, "flow|train");
  EXPECT_EQ(record.system, "airflow");
  EXPECT_EQ(record.job, "local-1");
  EXPECT_EQ(record.attempts, 2);
  EXPECT_EQ(record.used_millis, 1234);
}

TEST_F(LocalStepTest, OneAttemptAtATimeHasTheStep) {
  LocalStep one = Open();
  LocalStep other = Open();
  absl::StatusOr<os::UniqueFd> lock = one.Lock();
  ASSERT_TRUE(lock.ok()) << lock.status();
  EXPECT_TRUE(absl::IsAlreadyExists(other.Lock().status()));
  EXPECT_TRUE(other.IsLocked());
  EXPECT_TRUE(Open("flow|evaluate").Lock().ok());
  lock->Reset();
  EXPECT_FALSE(one.IsLocked());
  EXPECT_TRUE(other.Lock().ok());
}

TEST_F(LocalStepTest, AFolderThatWasRemovedMeanwhileIsMadeAgain) {
  LocalStep one = Open();
  LocalStep other = Open();
  {
    const absl::StatusOr<os::UniqueFd> lock = one.Lock();
    ASSERT_TRUE(lock.ok());
    ASSERT_TRUE(one.Remove().ok());
  }
  const absl::StatusOr<os::UniqueFd> lock = other.Lock();
  ASSERT_TRUE(lock.ok()) << lock.status();
  EXPECT_TRUE(absl::IsAlreadyExists(Open().Lock().status()));
}

TEST_F(LocalStepTest, AVerdictIsReportedForOneJob) {
  const LocalStep step = Open();
  ASSERT_TRUE(step.Write({"flow|train", "", "local-1", 1, 1}).ok());
  EXPECT_FALSE(step.IsReported("local-1"));
  ASSERT_TRUE(step.MarkReported("local-1").ok());
  EXPECT_TRUE(step.IsReported("local-1"));
  ASSERT_TRUE(step.Write({"flow|train", "", "local-2", 2, 2}).ok());
  EXPECT_FALSE(step.IsReported("local-2"));
  EXPECT_FALSE(step.IsReported("local-1"));
}

TEST_F(LocalStepTest, ARecordOfNothingIsAnError) {
  const LocalStep step = Open();
  std::ofstream(step.path() + "/step.json") << "{\"key\": 3}";
  const absl::Status read = step.Read().status();
  EXPECT_TRUE(absl::IsDataLoss(read)) << read;
  EXPECT_THAT(std::string(read.message()), HasSubstr("step.json is no record of a step"));
  EXPECT_TRUE(LocalStep::List(folder_.path() + "/local")->empty());
}

TEST_F(LocalStepTest, TheListBeginsWithTheLastUsed) {
  ASSERT_TRUE(Open("old").Write({"old", "", "local-1", 1, 1}).ok());
  ASSERT_TRUE(Open("new").Write({"new", "", "local-2", 1, 2}).ok());
  const std::vector<LocalStep> steps = LocalStep::List(folder_.path() + "/local").value();
  ASSERT_EQ(steps.size(), 2);
  EXPECT_EQ(steps[0].Read()->key, "new");
  EXPECT_EQ(steps[1].Read()->key, "old");
}

TEST_F(LocalStepTest, OldStepsGoUnlessTheyHoldWork) {
  constexpr int64_t kDay = int64_t{24} * 3600 * 1000;
  for (const std::string& key : {std::string("idle"), std::string("work"), std::string("told"),
                                 std::string("held"), std::string("new")}) {
    const LocalStep step = Open(key);
    ASSERT_TRUE(step.Write({key, "", "local-" + key, 1, key == "new" ? 9 * kDay : kDay}).ok());
    if (key == "idle") continue;
    std::filesystem::create_directory(step.checkpoints());
    std::ofstream(step.checkpoints() + "/model") << "weights";
  }
  ASSERT_TRUE(Open("told").MarkReported("local-told").ok());
  ASSERT_TRUE(Open("held").MarkReported("local-held").ok());
  LocalStep held = Open("held");
  const absl::StatusOr<os::UniqueFd> lock = held.Lock();
  const std::string local_dir = folder_.path() + "/local";
  LocalStep::RemoveOld(local_dir, 0, 10 * kDay);
  EXPECT_EQ(LocalStep::List(local_dir)->size(), 5);
  LocalStep::RemoveOld(local_dir, 7, 10 * kDay);
  const std::vector<LocalStep> steps = LocalStep::List(local_dir).value();
  std::vector<std::string> left;
  left.reserve(steps.size());
  for (const LocalStep& step : steps) left.push_back(step.Read()->key);
  EXPECT_THAT(left, ::testing::UnorderedElementsAre("work", "held", "new"));
}

}  // namespace
}  // namespace tony::client
