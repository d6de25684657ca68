// Old jobs go; whatever lives, is young, is somebody else's or is work stays.
#include "client/history_retention.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "absl/strings/str_cat.h"
#include "tests/client/job_folders.h"

namespace tony::client {
namespace {

constexpr int64_t kNow = 1'700'000'000'000;

class HistoryRetentionTest : public ::testing::Test {
 protected:
  backend::JobFolder Job(const std::string& id) {
    const backend::JobFolder folder = WriteJob(local_.path(), id, FailedJob().events());
    AppendLog(folder.task_logs({"worker", 0}) + "/attempt-1/stdout.log", "text\n");
    return folder;
  }
  /// To be called last, since changes in the folder make it young.
  static void SetAge(const backend::JobFolder& folder, double days) {
    const auto seconds = static_cast<time_t>(kNow / 1000 - days * 86'400);
    const timespec times[2] = {{seconds, 0}, {seconds, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, folder.root().c_str(), times, 0), 0);
  }
  int Remove(int days = 30, int most = 100) {
    return RemoveOldJobs(local_.path(), days, kNow, most, stop_);
  }
  static bool IsThere(const backend::JobFolder& folder) {
    return std::filesystem::exists(folder.root());
  }

  TemporaryFolder local_;
  std::atomic<bool> stop_ = false;
};

TEST_F(HistoryRetentionTest, RemovesWhatIsOldAndOver) {
  const backend::JobFolder old = Job("old");
  const backend::JobFolder young = Job("young");
  SetAge(old, 30.1);
  SetAge(young, 29.9);
  EXPECT_EQ(Remove(), 1);
  EXPECT_FALSE(IsThere(old));
  EXPECT_TRUE(IsThere(young));
  EXPECT_EQ(RemoveOldJobs(local_.path() + "/none", 30, kNow, 100, stop_), 0);
}

TEST_F(HistoryRetentionTest, ALivingJobStays) {
  const backend::JobFolder living = Job("living");
  const HeldLock lock(living);
  SetAge(living, 300);
  EXPECT_EQ(Remove(), 0);
  EXPECT_TRUE(std::filesystem::exists(living.events()));
}

TEST_F(HistoryRetentionTest, AJobWhoseApplicationMasterIsBeingReplacedStays) {
  const backend::JobFolder guarded = Job("guarded");
  const absl::StatusOr<os::UniqueFd> guard = os::LockFile(guarded.am_guard());
  SetAge(guarded, 300);
  EXPECT_EQ(Remove(), 0);
  EXPECT_TRUE(std::filesystem::exists(guarded.events()));
}

TEST_F(HistoryRetentionTest, AJobThatNeverHadAnApplicationMasterGoes) {
  const backend::JobFolder staged = WriteJob(local_.path(), "staged", {});
  // Its client was killed before it had its name.
  const backend::JobFolder unnamed = WriteJob(local_.path(), ".unnamed", {});
  SetAge(staged, 300);
  SetAge(unnamed, 300);
  EXPECT_EQ(Remove(), 2);
  EXPECT_FALSE(IsThere(staged) || IsThere(unnamed));
}

TEST_F(HistoryRetentionTest, CheckpointsAreWorkAndStay) {
  const backend::JobFolder trained = Job("trained");
  AppendLog(trained.checkpoints() + "/model.pt", "weights");
  const backend::JobFolder untrained = Job("untrained");
  std::filesystem::create_directories(untrained.checkpoints());
  SetAge(trained, 300);
  SetAge(untrained, 300);
  EXPECT_EQ(Remove(), 1);
  EXPECT_TRUE(std::filesystem::exists(trained.checkpoints() + "/model.pt"));
  EXPECT_FALSE(IsThere(untrained));
}

TEST_F(HistoryRetentionTest, LinksAndFilesStay) {
  const TemporaryFolder elsewhere;
  const backend::JobFolder target = WriteJob(elsewhere.path(), "target", FailedJob().events());
  SetAge(target, 300);
  const std::string jobs = backend::JobsFolder(local_.path());
  AppendLog(jobs + "/file", "text");
  std::filesystem::create_directory_symlink(target.root(), jobs + "/link");
  const timespec times[2] = {{1, 0}, {1, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (jobs + "/link").c_str(), times, AT_SYMLINK_NOFOLLOW), 0);
  EXPECT_EQ(Remove(), 0);
  EXPECT_TRUE(IsThere(target));
}

TEST_F(HistoryRetentionTest, AFolderOfAnotherUserStays) {
  const backend::JobFolder other = Job("other");
  if (::chown(other.root().c_str(), 12345, 12345) != 0) {
    GTEST_SKIP() << "only root may give a folder to another user";
  }
  SetAge(other, 300);
  EXPECT_EQ(Remove(), 0);
  EXPECT_TRUE(IsThere(other));
}

TEST_F(HistoryRetentionTest, TheOldestGoFirstAndTheWorkIsBounded) {
  std::vector<backend::JobFolder> jobs;
  for (int i = 0; i < 5; ++i) {
    jobs.push_back(Job(absl::StrCat("job-", i)));
    SetAge(jobs.back(), 100 + i);
  }
  EXPECT_EQ(Remove(30, 2), 2);
  EXPECT_FALSE(IsThere(jobs[4]) || IsThere(jobs[3]));
  EXPECT_TRUE(IsThere(jobs[2]));
  stop_ = true;
  EXPECT_EQ(Remove(), 0);
}

TEST_F(HistoryRetentionTest, ASweepEndsWithItsOwner) {
  const backend::JobFolder old = Job("old");
  SetAge(old, 300);
  { const HistorySweep never(local_.path(), 0, kNow); }
  EXPECT_TRUE(IsThere(old));
  {
    const HistorySweep sweep(local_.path(), 30, kNow);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (IsThere(old) && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  }
  EXPECT_FALSE(IsThere(old));
}

}  // namespace
}  // namespace tony::client
