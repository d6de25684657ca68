// Tests the removal of cache entries, in a folder of the test and with a ResourceManager of its
// own.
#include "client/staging/yarn_cache.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/escaping.h"
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
  /// The digest by which a file is known that the test calls `word`.
  static std::string Digest(const std::string& word) {
    std::string digest = absl::BytesToHexString(word);
    digest.resize(64, '0');
    return digest;
  }
  static std::string Cached(const std::string& word) { return "cache/" + Digest(word); }
  static std::string Mark(const std::string& word) { return "used/" + Digest(word); }
  void Put(const std::string& word, days age) { PutFile(Cached(word), age); }
  void PutFile(const std::string& name, days age) {
    ASSERT_EQ(files_->Create(name, "bytes"), absl::OkStatus());
    Age(name, age);
  }
  void Age(const std::string& name, std::chrono::hours age) {
    std::filesystem::last_write_time(cluster_->staging() + "/" + name,
                                     std::filesystem::file_time_type::clock::now() - age);
  }
  int Sweep() {
    return RemoveUnusedFromCache(*cluster_, clock_, kLimit, stop_.get_token()).value();
  }
  /// In the test's words; what is no digest as it is.
  std::vector<std::string> Kept() {
    std::vector<std::string> words;
    const std::vector<std::string> names = files_->List("cache").value();
    for (const std::string& name : names) {
      std::string digits = name.size() < 64 ? "" : name.substr(0, 64);
      while (digits.ends_with("00")) digits.resize(digits.size() - 2);
      words.push_back(digits.empty() ? name : absl::HexStringToBytes(digits) + name.substr(64));
    }
    return words;
  }
  using Names = std::vector<std::string>;

  const os::TemporaryFolder folder_;
  backend::FakeResourceManager manager_;
  backend::YarnConfiguration configuration_;
  FakeClock clock_;
  std::stop_source stop_;
  std::unique_ptr<backend::YarnCluster> cluster_;
  std::unique_ptr<storage::JobFiles> files_;
};

TEST_F(YarnCacheTest, WhatNobodyHasUsedForLongGoes) {
  Put("old", days(33));
  // A job that was staged yesterday may have left the mark of the day before.
  Put("new", days(31));
  EXPECT_EQ(Sweep(), 1);
  EXPECT_EQ(Kept(), Names{"new"});
  EXPECT_EQ(Sweep(), 0);
}

TEST_F(YarnCacheTest, WhatIsNotOfTheCacheStays) {
  PutFile("cache/thesis.tex", days(100));
  PutFile("cache/" + Digest("x") + ".zip", days(100));
  PutFile("cache/.tony-own settings", days(100));
  PutFile(Cached("runtime") + ".tar.gz", days(100));
  EXPECT_EQ(Sweep(), 1);
  EXPECT_EQ(Kept(), (Names{"x.zip", "thesis.tex"}));
  EXPECT_EQ(files_->ListUnfinished("cache").value(), Names{".tony-own settings"});
}

TEST_F(YarnCacheTest, WhatIsUsedStaysAsItIs) {
  Put("used", days(100));
  Put("unused", days(100));
  const int64_t written = files_->Describe(Cached("used"))->modified_millis;
  ASSERT_EQ(MarkUsed(Cached("used"), *files_, clock_), absl::OkStatus());
  EXPECT_EQ(Sweep(), 1);
  EXPECT_EQ(Kept(), Names{"used"});
  // Nodes refuse what has another time than they were told.
  EXPECT_EQ(files_->Describe(Cached("used"))->modified_millis, written);
  Age(Mark("used"), days(33));
  EXPECT_EQ(Sweep(), 1);
  EXPECT_EQ(Kept(), Names{});
  EXPECT_EQ(files_->List("used").value(), Names{});
}

TEST_F(YarnCacheTest, AUseIsNotedOnceADay) {
  Put("a", days(100));
  ASSERT_EQ(MarkUsed(Cached("a"), *files_, clock_), absl::OkStatus());
  Age(Mark("a"), std::chrono::hours(12));
  const int64_t first = files_->Describe(Mark("a"))->modified_millis;
  ASSERT_EQ(MarkUsed(Cached("a"), *files_, clock_), absl::OkStatus());
  EXPECT_EQ(files_->Describe(Mark("a"))->modified_millis, first);
  Age(Mark("a"), days(2));
  ASSERT_EQ(MarkUsed(Cached("a"), *files_, clock_), absl::OkStatus());
  EXPECT_GT(files_->Describe(Mark("a"))->modified_millis, first);
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
  PutFile("cache/.tony-1", days(2));
  PutFile("cache/.tony-2", days(0));
  EXPECT_EQ(Kept(), Names{"whole"});
  EXPECT_EQ(Sweep(), 1);
  EXPECT_EQ(files_->ListUnfinished("cache").value(), Names{".tony-2"});
  EXPECT_EQ(Kept(), Names{"whole"});
}

TEST_F(YarnCacheTest, AStopDuringTheSweepEndsIt) {
  Put("old", days(100));
  PutFile("cache/.tony-1", days(100));
  manager_.Answer("getApplications", [this](const std::string&) {
    stop_.request_stop();
    return yarn::GetApplicationsResponseProto().SerializeAsString();
  });
  EXPECT_EQ(Sweep(), 0);
  EXPECT_EQ(files_->ListUnfinished("cache").value(), Names{".tony-1"});
  EXPECT_EQ(Kept(), Names{"old"});
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
