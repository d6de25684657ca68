// What is removed of a cache in a folder of the test's own, with a ResourceManager of its own.
#include "client/yarn_cache.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "backend/yarn/yarn_job.h"
#include "common/fake_clock.h"
#include "tests/backend/yarn/fake_resource_manager.h"
#include "tests/backend/yarn/yarn_configuration.h"

namespace tony::client {
namespace {

namespace yarn = ::hadoop::yarn;
using std::chrono::days;

constexpr days kLimit{30};

class YarnCacheTest : public testing::Test {
 protected:
  YarnCacheTest() {
    configuration_.SetResourceManager(manager_.endpoint());
    configuration_.options.staging_dir = folder_ / "staging";
    cluster_ = std::make_unique<backend::YarnCluster>(configuration_.Find().value());
    files_ = cluster_->OpenStaging().value();
    Jobs({});
    // The files' times are those of the machine.
    clock_.Advance(std::chrono::milliseconds(SystemClock().UnixMillis() - clock_.UnixMillis()));
  }

  /// The user's, submitted so many days ago, and whether they live.
  void Jobs(const std::vector<std::pair<days, bool>>& jobs) {
    yarn::GetApplicationsResponseProto response;
    for (const auto& [age, lives] : jobs) {
      yarn::ApplicationReportProto& report = *response.add_applications();
      report.set_starttime(clock_.UnixMillis() - std::chrono::milliseconds(age).count());
      report.set_yarn_application_state(lives ? yarn::ACCEPTED : yarn::FINISHED);
    }
    manager_.Answer("getApplications",
                    [answer = response.SerializeAsString()](const std::string&) { return answer; });
  }
  void Put(const std::string& own, days age) {
    ASSERT_EQ(files_->Create("cache/" + own, "bytes"), absl::OkStatus());
    Age("cache/" + own, age);
  }
  void Age(const std::string& name, std::chrono::hours age) {
    std::filesystem::last_write_time(cluster_->staging() + "/" + name,
                                     std::filesystem::file_time_type::clock::now() - age);
  }
  int Sweep() {
    return RemoveUnusedFromCache(*cluster_, clock_, kLimit, stop_.get_token()).value();
  }
  std::vector<std::string> Kept() { return files_->List("cache").value(); }
  using Names = std::vector<std::string>;

  const os::TemporaryFolder folder_;
  backend::FakeResourceManager manager_;
  backend::YarnConfiguration configuration_;
  FakeClock clock_;
  std::stop_source stop_;
  std::unique_ptr<backend::YarnCluster> cluster_;
  std::unique_ptr<backend::JobFiles> files_;
};

TEST_F(YarnCacheTest, WhatNobodyHasUsedForLongGoes) {
  Put("old", days(33));
  // Who staged it yesterday may not have marked it for the day before.
  Put("new", days(31));
  EXPECT_EQ(Sweep(), 1);
  EXPECT_EQ(Kept(), Names{"new"});
  EXPECT_EQ(Sweep(), 0);
}

TEST_F(YarnCacheTest, WhatIsUsedStaysAsItIs) {
  Put("used", days(100));
  Put("unused", days(100));
  const int64_t written = files_->Describe("cache/used")->modified_millis;
  ASSERT_EQ(MarkUsed("cache/used", *files_, clock_), absl::OkStatus());
  EXPECT_EQ(Sweep(), 1);
  EXPECT_EQ(Kept(), Names{"used"});
  // Nodes refuse what has another time than they were told.
  EXPECT_EQ(files_->Describe("cache/used")->modified_millis, written);
  Age("used/used", days(33));
  EXPECT_EQ(Sweep(), 1);
  EXPECT_EQ(Kept(), Names{});
  EXPECT_EQ(files_->List("used").value(), Names{});
}

TEST_F(YarnCacheTest, AUseIsNotedOnceADay) {
  Put("a", days(100));
  ASSERT_EQ(MarkUsed("cache/a", *files_, clock_), absl::OkStatus());
  Age("used/a", std::chrono::hours(12));
  const int64_t first = files_->Describe("used/a")->modified_millis;
  ASSERT_EQ(MarkUsed("cache/a", *files_, clock_), absl::OkStatus());
  EXPECT_EQ(files_->Describe("used/a")->modified_millis, first);
  Age("used/a", days(2));
  ASSERT_EQ(MarkUsed("cache/a", *files_, clock_), absl::OkStatus());
  EXPECT_GT(files_->Describe("used/a")->modified_millis, first);
}

TEST_F(YarnCacheTest, WhatAJobThatStillWaitsMayNeedStays) {
  Put("before", days(43));
  Put("maybe", days(41));
  Put("after", days(39));
  Jobs({{days(40), true}, {days(50), false}});
  EXPECT_EQ(Sweep(), 1);
  EXPECT_EQ(Kept(), (Names{"after", "maybe"}));
  Jobs({{days(40), false}});
  EXPECT_EQ(Sweep(), 2);
}

TEST_F(YarnCacheTest, WhatAKilledClientHadBegunGoesAfterADay) {
  Put("whole", days(2));
  Put(".tony-1", days(2));
  Put(".tony-2", days(0));
  EXPECT_EQ(Kept(), Names{"whole"});
  EXPECT_EQ(Sweep(), 1);
  EXPECT_EQ(files_->ListUnfinished("cache").value(), Names{".tony-2"});
  EXPECT_EQ(Kept(), Names{"whole"});
}

TEST_F(YarnCacheTest, NothingGoesWithoutAWordOfYarnOrWhenTimeIsUp) {
  Put("old", days(100));
  EXPECT_EQ(RemoveUnusedFromCache(*cluster_, clock_, days(0), {}).value(), 0);
  manager_.Throw("getApplications", "x.AccessControlException");
  EXPECT_FALSE(RemoveUnusedFromCache(*cluster_, clock_, kLimit, {}).ok());
  Jobs({});
  stop_.request_stop();
  EXPECT_EQ(Sweep(), 0);
  EXPECT_EQ(Kept(), Names{"old"});
}

}  // namespace
}  // namespace tony::client
