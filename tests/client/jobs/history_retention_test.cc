// Old jobs go; whatever lives, is young, is somebody else's or is work stays.
#include "client/jobs/history_retention.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "absl/strings/str_cat.h"
#include "client/jobs/local_folder.h"
#include "os/files/files.h"
#include "tests/backend/local/job_ids.h"
#include "tests/client/job_folders.h"
#include "tests/common/eventually.h"
#include "tests/logs/timed_log.h"

namespace tony::client {
namespace {

constexpr int64_t kNow = 1'700'000'000'000;

class HistoryRetentionTest : public ::testing::Test {
 protected:
  storage::JobFolder Job(const std::string& id) {
    const storage::JobFolder folder = WriteJob(local_.path(), id, FailedJob().events());
    logs::AppendLog(folder.task_logs({"worker", 0}) + "/attempt-1/stdout.log", "text\n");
    return folder;
  }
  /// To be called last, since changes in the folder make it young.
  static void SetAge(const storage::JobFolder& folder, double days) {
    const auto seconds = static_cast<time_t>(kNow / 1000 - days * 86'400);
    const timespec times[2] = {{seconds, 0}, {seconds, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, folder.root().c_str(), times, 0), 0);
  }
  int Remove(int days = 30, int most = 100) {
    return RemoveOldJobs(local_.path(), days, kNow, most, stop_);
  }
  static bool IsThere(const storage::JobFolder& folder) {
    return std::filesystem::exists(folder.root());
  }

  TemporaryFolder local_;
  std::atomic<bool> stop_ = false;
};

TEST_F(HistoryRetentionTest, RemovesWhatIsOldAndOver) {
  const storage::JobFolder old = Job(backend::TestJobId(1));
  const storage::JobFolder young = Job(backend::TestJobId(2));
  SetAge(old, 30.1);
  SetAge(young, 29.9);
  EXPECT_EQ(Remove(), 1);
  EXPECT_FALSE(IsThere(old));
  EXPECT_TRUE(IsThere(young));
  EXPECT_EQ(RemoveOldJobs(local_.path() + "/none", 30, kNow, 100, stop_), 0);
}

TEST_F(HistoryRetentionTest, AJobFromBeforeThereWasTonyIsOfAnUnknownAge) {
  const storage::JobFolder job = Job(backend::TestJobId(1));
  SetAge(job, static_cast<double>(kNow) / 86'400'000 - 1);  // of a clock that had lost the time
  EXPECT_EQ(Remove(), 0);
  EXPECT_TRUE(IsThere(job));
}

TEST_F(HistoryRetentionTest, ALivingJobStays) {
  const storage::JobFolder living = Job(backend::TestJobId(3));
  const HeldLock lock(living);
  SetAge(living, 300);
  EXPECT_EQ(Remove(), 0);
  EXPECT_TRUE(std::filesystem::exists(living.events()));
}

TEST_F(HistoryRetentionTest, AJobWhoseApplicationMasterIsBeingReplacedStays) {
  const storage::JobFolder guarded = Job(backend::TestJobId(4));
  const absl::StatusOr<os::UniqueFd> guard = os::LockFile(guarded.am_guard());
  SetAge(guarded, 300);
  EXPECT_EQ(Remove(), 0);
  EXPECT_TRUE(std::filesystem::exists(guarded.events()));
}

TEST_F(HistoryRetentionTest, AJobThatNeverHadAnApplicationMasterGoes) {
  const storage::JobFolder staged = WriteJob(local_.path(), backend::TestJobId(20), {});
  // Its client was killed before it had its name.
  const storage::JobFolder unnamed = WriteJob(local_.path(), "." + backend::TestJobId(21), {});
  SetAge(staged, 300);
  SetAge(unnamed, 300);
  EXPECT_EQ(Remove(), 2);
  EXPECT_FALSE(IsThere(staged) || IsThere(unnamed));
}

TEST_F(HistoryRetentionTest, CheckpointsAreWorkAndStay) {
  const storage::JobFolder trained = Job(backend::TestJobId(5));
  logs::AppendLog(trained.checkpoints() + "/model.pt", "weights");
  const storage::JobFolder untrained = Job(backend::TestJobId(6));
  std::filesystem::create_directories(untrained.checkpoints());
  SetAge(trained, 300);
  SetAge(untrained, 300);
  EXPECT_EQ(Remove(), 1);
  EXPECT_TRUE(std::filesystem::exists(trained.checkpoints() + "/model.pt"));
  EXPECT_FALSE(IsThere(untrained));
}

TEST_F(HistoryRetentionTest, LinksAndFilesStay) {
  const TemporaryFolder elsewhere;
  const storage::JobFolder target =
      WriteJob(elsewhere.path(), backend::TestJobId(22), FailedJob().events());
  SetAge(target, 300);
  const std::string jobs = storage::JobsFolder(local_.path());
  const std::string link = jobs + "/" + backend::TestJobId(23);
  logs::AppendLog(jobs + "/" + backend::TestJobId(24), "text");
  std::filesystem::create_directory_symlink(target.root(), link);
  const timespec times[2] = {{1, 0}, {1, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, link.c_str(), times, AT_SYMLINK_NOFOLLOW), 0);
  EXPECT_EQ(Remove(), 0);
  EXPECT_TRUE(IsThere(target));
}

TEST_F(HistoryRetentionTest, AFolderOfAnotherUserStays) {
  const storage::JobFolder other = Job(backend::TestJobId(7));
  if (::chown(other.root().c_str(), 12345, 12345) != 0) {
    GTEST_SKIP() << "only root may give a folder to another user";
  }
  SetAge(other, 300);
  EXPECT_EQ(Remove(), 0);
  EXPECT_TRUE(IsThere(other));
}

TEST_F(HistoryRetentionTest, TheOldestGoFirstAndTheWorkIsBounded) {
  std::vector<storage::JobFolder> jobs;
  for (int i = 0; i < 5; ++i) {
    jobs.push_back(Job(backend::TestJobId(static_cast<uint32_t>(i))));
    SetAge(jobs.back(), 100 + i);
  }
  EXPECT_EQ(Remove(30, 2), 2);
  EXPECT_FALSE(IsThere(jobs[4]) || IsThere(jobs[3]));
  EXPECT_TRUE(IsThere(jobs[2]));
  stop_ = true;
  EXPECT_EQ(Remove(), 0);
}

TEST_F(HistoryRetentionTest, WhatIsNoJobsFolderStays) {
  const std::string jobs = storage::JobsFolder(local_.path());
  // A job's name, or a job's files; never both.
  const storage::JobFolder thesis = Job("thesis");
  const storage::JobFolder named(jobs + "/" + backend::TestJobId(30));
  logs::AppendLog(named.root() + "/chapter.tex", "text");
  SetAge(thesis, 300);
  SetAge(named, 300);
  EXPECT_EQ(Remove(), 0);
  EXPECT_EQ(Remove(), 0);
  EXPECT_TRUE(IsThere(thesis));
  EXPECT_TRUE(std::filesystem::exists(named.root() + "/chapter.tex"));
}

TEST_F(HistoryRetentionTest, OneThatWasHalfRemovedGoesTheNextTime) {
  const storage::JobFolder folder = Job(backend::TestJobId(31));
  std::filesystem::remove(folder.events());
  std::filesystem::remove(folder.am_lock());
  SetAge(folder, 300);
  EXPECT_EQ(Remove(), 1);
  EXPECT_FALSE(IsThere(folder));
}

TEST_F(HistoryRetentionTest, ASweepEndsWithItsOwner) {
  const storage::JobFolder old = Job(backend::TestJobId(1));
  SetAge(old, 300);
  // An earlier submission has seen this time.
  constexpr int64_t kDay = 24 * 3600 * int64_t{1000};
  const ClockReading before{kNow - kDay, "a boot", 0};
  { const HistorySweep first(local_.path(), 30, before); }
  const ClockReading now{kNow, "a boot", kDay};
  { const HistorySweep never(local_.path(), 0, before); }
  EXPECT_TRUE(IsThere(old));
  {
    const HistorySweep sweep(local_.path(), 30, now);
    Eventually([&] { return !IsThere(old); });
  }
  EXPECT_FALSE(IsThere(old));
}

TEST_F(HistoryRetentionTest, AClockThatWasSetAheadOnceRemovesNothing) {
  const storage::JobFolder job = Job(backend::TestJobId(1));
  SetAge(job, 5);
  constexpr int64_t kDay = 24 * 3600 * int64_t{1000};
  const auto submit = [&](int64_t wall, int64_t uptime) {
    HistorySweep sweep(local_.path(), 30, ClockReading{wall, "a boot", uptime});
    // The sweep's end is its destructor's, which lets it finish one job only; the file is the last
    // thing before it.
    const std::string seen = SeenTimeFile(local_.path());
    const std::string before = os::ReadFile(seen).value_or("");
    Eventually([&] { return os::ReadFile(seen).value_or("") != before; });
  };
  submit(kNow - 2 * kDay, 0);
  submit(kNow, 2 * kDay);
  submit(kNow + 31 * kDay, 2 * kDay + 1);  // wrong
  submit(kNow + 2, 2 * kDay + 2);
  submit(kNow + kDay, 3 * kDay);
  EXPECT_TRUE(IsThere(job));
}

}  // namespace
}  // namespace tony::client
