// Tests the removal of ended jobs, in a folder of the test and with a ResourceManager of its own.
#include "client/yarn/yarn_remains.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "backend/yarn/yarn_job.h"
#include "common/fake_clock.h"
#include "os/files/files.h"
#include "tests/backend/yarn/fake_resource_manager.h"
#include "tests/backend/yarn/yarn_configuration.h"

namespace tony::client {
namespace {

namespace yarn = ::hadoop::yarn;

constexpr char kJob[] = "jobs/application_1700000000000_0042";

class YarnRemainsTest : public testing::Test {
 protected:
  YarnRemainsTest() {
    configuration_.SetResourceManager(manager_.endpoint());
    configuration_.options.staging_dir = folder_ / "staging";
    cluster_ = std::make_unique<backend::YarnCluster>(configuration_.Find().value());
    files_ = cluster_->OpenStaging().value();
    // The files' times are those of the machine.
    clock_.Advance(std::chrono::milliseconds(SystemClock().UnixMillis() - clock_.UnixMillis()));
    Put("client.pem");
    Put("journal/00000001.json");
    Put("history.jsonl");
  }

  void Put(const std::string& own, const std::string& contents = "bytes") {
    EXPECT_EQ(files_->Create(std::string(kJob) + "/" + own, contents), absl::OkStatus());
  }
  void Report(yarn::YarnApplicationStateProto state) {
    yarn::ApplicationReportProto report;
    report.set_yarn_application_state(state);
    manager_.AnswerReport(report);
  }
  void YarnDoesNotKnowIt() {
    manager_.Throw("getApplicationReport",
                   "org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException");
  }
  int Sweep() { return RemoveRemainsOnCluster(*cluster_, clock_, {}).value(); }
  std::vector<std::string> Kept() { return files_->List(kJob).value(); }
  using Names = std::vector<std::string>;

  const os::TemporaryFolder folder_;
  backend::FakeResourceManager manager_;
  backend::YarnConfiguration configuration_;
  FakeClock clock_;
  std::unique_ptr<backend::YarnCluster> cluster_;
  std::unique_ptr<storage::JobFiles> files_;
};

TEST_F(YarnRemainsTest, OnlyTheHistoryStaysOfAJobThatIsOver) {
  Report(yarn::RUNNING);
  EXPECT_EQ(Sweep(), 0);
  Report(yarn::KILLED);
  EXPECT_EQ(Sweep(), 1);
  EXPECT_EQ(Kept(), Names{"history.jsonl"});
  EXPECT_EQ(Sweep(), 0);
}

TEST_F(YarnRemainsTest, WhatYarnDoesNotKnowGoesAfterADay) {
  Put("cluster", cluster_->Name());
  YarnDoesNotKnowIt();
  EXPECT_EQ(Sweep(), 0);
  clock_.Advance(std::chrono::hours(25));
  EXPECT_EQ(Sweep(), 1);
  EXPECT_EQ(Kept(), (Names{"cluster", "history.jsonl"}));
}

// Two clusters may have one file system.
TEST_F(YarnRemainsTest, AnotherClustersJobIsLeftAlone) {
  YarnDoesNotKnowIt();
  clock_.Advance(std::chrono::hours(25));
  EXPECT_EQ(Sweep(), 0);
  Put("cluster", "elsewhere:8032");
  EXPECT_EQ(Sweep(), 0);
}

}  // namespace
}  // namespace tony::client
