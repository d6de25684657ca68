// The names of TonY's histories, and where they are found.
#include "portal/index/tony_history.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "common/fake_clock.h"
#include "portal/index/indexer.h"
#include "tests/os/temporary_folder.h"

namespace tony::portal {
namespace {

namespace fs = std::filesystem;

TEST(EntryOfHistoryName, AJobThatHasEnded) {
  const auto entry = EntryOfHistoryName(
      "application_1559240000000_0007-1559260000000-1559260060000-alice-SUCCEEDED.jhist");
  ASSERT_TRUE(entry.has_value());
  EXPECT_EQ(entry->job_id, "application_1559240000000_0007");
  EXPECT_EQ(entry->submitted_millis, 1559260000000);
  EXPECT_EQ(entry->ended_millis, 1559260060000);
  EXPECT_EQ(entry->user, "alice");
  EXPECT_EQ(entry->state, "SUCCEEDED");
}

TEST(EntryOfHistoryName, AUserWithDashes) {
  const auto entry = EntryOfHistoryName("application_1_7-15-16-svc-ml-prod-FAILED.jhist");
  ASSERT_TRUE(entry.has_value());
  EXPECT_EQ(entry->user, "svc-ml-prod");
  EXPECT_EQ(entry->state, "FAILED");
}

TEST(EntryOfHistoryName, AJobWithoutAnEnd) {
  const auto entry = EntryOfHistoryName("application_1_7-15-a-b.jhist.inprogress");
  ASSERT_TRUE(entry.has_value());
  EXPECT_EQ(entry->user, "a-b");
  EXPECT_EQ(entry->state, "RUNNING");
  EXPECT_EQ(entry->ended_millis, 0);
}

TEST(EntryOfHistoryName, OthersAreNone) {
  for (const char* const name :
       {"", ".jhist", "config.xml", "application_1_7.jhist", "application_1_7-15-16-alice.jhist",
        "application_1_7-15-16-alice-GOOD.jhist", "application_1_7-x-16-alice-KILLED.jhist",
        "application_1_7-15-x-alice-KILLED.jhist", "application_1_7-15-16--KILLED.jhist",
        "../x-15-16-alice-KILLED.jhist", "application_1_7-0-16-alice-KILLED.jhist",
        "application_1_7-15-999999999999999999-alice-KILLED.jhist",
        "application_1_7-15.jhist.inprogress", "application_1_7-15-16-alice-KILLED.jhist.crc"}) {
    EXPECT_FALSE(EntryOfHistoryName(name).has_value()) << name;
  }
}

class HistoriesTest : public ::testing::Test {
 protected:
  void Make(const std::string& place) {
    const fs::path path = fs::path(folder_.path()) / place;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "Obj";
  }

  os::TemporaryFolder folder_;
};

TEST_F(HistoriesTest, AreFoundWhereTonyLaysThem) {
  Make("finished/2019/05/31/app_1/app_1-15-20-alice-SUCCEEDED.jhist");
  Make("finished/2019/05/31/app_1/config.xml");
  Make("intermediate/app_1/app_1-15-alice.jhist.inprogress");
  Make("intermediate/app_2/app_2-30-bob.jhist.inprogress");
  Make("a/b/c/d/e/f/app_3-30-bob.jhist.inprogress");
  fs::create_symlink("app_1-15-20-alice-SUCCEEDED.jhist",
                     folder_.path() + "/app_4-15-20-alice-SUCCEEDED.jhist");
  const auto found = FindHistories(folder_.path());
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->size(), 2U);
  EXPECT_EQ(found->at("app_1").job.entry.state, "SUCCEEDED");
  EXPECT_EQ(found->at("app_1").job.duration_millis, 5);
  EXPECT_EQ(found->at("app_1").job.trouble, kTonyHistory);
  EXPECT_EQ(found->at("app_2").job.trouble, kTonyHistoryWithoutEnd);
  EXPECT_FALSE(found->at("app_2").job.alive);
}

TEST_F(HistoriesTest, OthersMayNotWriteThere) {
  fs::permissions(folder_.path(), fs::perms(0777));
  EXPECT_TRUE(absl::IsPermissionDenied(FindHistories(folder_.path()).status()));
}

TEST_F(HistoriesTest, AreListedAndFollowed) {
  Make("intermediate/app_1/app_1-15-alice.jhist.inprogress");
  os::TemporaryFolder index_folder, local;
  FakeClock clock;
  const auto index = JobIndex::Open(index_folder.path());
  ASSERT_TRUE(index.ok()) << index.status();
  Indexer indexer({local.path()}, **index, clock, {folder_.path()});
  const std::atomic<bool> stop = false;
  ASSERT_TRUE(indexer.Round(stop).ok());
  EXPECT_EQ(indexer.progress().trouble, "");
  auto page = (*index)->List({});
  ASSERT_EQ(page->jobs.size(), 1U);
  EXPECT_EQ(page->jobs[0].entry.state, "RUNNING");
  EXPECT_EQ(page->jobs[0].location, folder_.path());

  fs::rename(folder_.path() + "/intermediate/app_1/app_1-15-alice.jhist.inprogress",
             folder_.path() + "/intermediate/app_1/app_1-15-20-alice-KILLED.jhist");
  clock.Advance(Indexer::kSweepPause);
  EXPECT_TRUE(indexer.Round(stop).value());
  EXPECT_EQ((*index)->List({})->jobs.at(0).entry.state, "KILLED");
  EXPECT_FALSE(indexer.Round(stop).value()) << "nothing has changed";

  fs::remove_all(folder_.path() + "/intermediate/app_1");
  clock.Advance(Indexer::kSweepPause);
  EXPECT_TRUE(indexer.Round(stop).value());
  EXPECT_TRUE((*index)->List({})->jobs.empty());
}

}  // namespace
}  // namespace tony::portal
