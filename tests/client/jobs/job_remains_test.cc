// Tests what is removed of lost jobs, and which jobs are not touched.
#include "client/jobs/job_remains.h"

#include <gtest/gtest.h>

#include <memory>

#include "backend/local/ledger.h"
#include "tests/backend/local/job_ids.h"
#include "tests/client/job_folders.h"
#include "tests/logs/timed_log.h"

namespace tony::client {
namespace {

class JobRemainsTest : public ::testing::Test {
 protected:
  // A job as its ApplicationMaster leaves it when it is killed.
  storage::JobFolder Lost(const std::string& id) {
    const storage::JobFolder folder = WriteJob(local_dir_.path(), id, RunningJob().events());
    for (const std::string& path : folder.transient()) std::filesystem::create_directories(path);
    std::ofstream(folder.secrets() + "/authority.pem") << "secret";
    return folder;
  }
  static int Count(const storage::JobFolder& folder) {
    int count = 0;
    for (const std::string& path : folder.transient()) count += std::filesystem::exists(path);
    return count;
  }
  static int All(const storage::JobFolder& folder) {
    return static_cast<int>(folder.transient().size());
  }
  int SweepStaging() { return RemoveLostStaging(storage::StagingFolder(local_dir_.path())); }
  int Sweep() { return RemoveRemainsOfLostJobs(local_dir_.path()); }

  TemporaryFolder local_dir_;
};

TEST_F(JobRemainsTest, OfLostJobsOnlyTheHistoryStays) {
  const storage::JobFolder one = Lost(backend::TestJobId(1));
  const storage::JobFolder two = Lost(backend::TestJobId(2));
  EXPECT_EQ(Sweep(), 2);
  for (const storage::JobFolder& folder : {one, two}) {
    EXPECT_EQ(Count(folder), 0);
    EXPECT_TRUE(std::filesystem::exists(folder.events()));
    EXPECT_TRUE(std::filesystem::exists(folder.logs()));
  }
  EXPECT_EQ(Sweep(), 0);
}

TEST_F(JobRemainsTest, AJobWhoseApplicationMasterOrClientLivesIsLeftAlone) {
  const storage::JobFolder master = Lost(backend::TestJobId(3));
  const storage::JobFolder client = Lost(backend::TestJobId(4));
  {
    const HeldLock held(master);
    const os::UniqueFd guard = os::LockFile(client.am_guard()).value();
    EXPECT_EQ(Sweep(), 0);
    EXPECT_EQ(Count(master), All(master));
    EXPECT_EQ(Count(client), All(client));
  }
  EXPECT_EQ(Sweep(), 2);
}

TEST_F(JobRemainsTest, AJobWhoseExecutorsStillEndIsLeftAlone) {
  const storage::JobFolder folder = Lost(backend::TestJobId(5));
  const auto ledger = backend::Ledger::Open({.folder = storage::LedgerFolder(local_dir_.path())});
  ASSERT_TRUE(ledger.ok()) << ledger.status();
  auto claim = backend::LedgerClaim::Open(*ledger, backend::TestJobId(5));
  ASSERT_TRUE(claim.ok()) << claim.status();
  ASSERT_EQ((*claim)->Want({{"worker", 1, {}}}), absl::OkStatus());
  EXPECT_EQ(Sweep(), 0);
  EXPECT_EQ(Count(folder), All(folder));
  claim->reset();
  EXPECT_EQ(Sweep(), 1);
}

TEST_F(JobRemainsTest, AJobWhoseClientWasKilledWhileItStagedIsTidiedUp) {
  const storage::JobFolder folder = WriteJob(local_dir_.path(), backend::TestJobId(5), {});
  std::filesystem::create_directories(folder.secrets());
  std::filesystem::create_directories(folder.archives());
  {
    const HeldGuard staging(folder);
    EXPECT_EQ(Sweep(), 0);
    EXPECT_EQ(Count(folder), 2);
  }
  EXPECT_EQ(Sweep(), 1);
  EXPECT_EQ(Count(folder), 0);
}

TEST_F(JobRemainsTest, ThereNeedBeNoJobs) { EXPECT_EQ(Sweep(), 0); }

TEST_F(JobRemainsTest, TheSecretsGoFirst) {
  // An ApplicationMaster that takes too long for the rest is killed.
  const storage::JobFolder folder = Lost(backend::TestJobId(1));
  EXPECT_EQ(folder.transient().front(), folder.secrets());
}

TEST_F(JobRemainsTest, WhatIsNoJobsFolderIsNotTouched) {
  const std::string jobs = storage::JobsFolder(local_dir_.path());
  const std::string staging = storage::StagingFolder(local_dir_.path());
  // A job's name, or a job's files; never both.
  const std::vector<std::string> foreign = {jobs + "/thesis", jobs + "/" + backend::TestJobId(1),
                                            staging + "/thesis",
                                            staging + "/application_1700000000000_0042"};
  for (const std::string& path : foreign) {
    for (const char* const name : {"/cache", "/archives", "/secrets", "/containers"}) {
      std::filesystem::create_directories(path + name);
      logs::AppendLog(path + name + "/file", "mine");
    }
  }
  logs::AppendLog(jobs + "/thesis/am.guard", "");
  logs::AppendLog(staging + "/thesis/job.xml", "");
  EXPECT_EQ(Sweep() + SweepStaging(), 0);
  for (const std::string& path : foreign) {
    EXPECT_TRUE(std::filesystem::exists(path + "/secrets/file")) << path;
    EXPECT_TRUE(std::filesystem::exists(path + "/cache/file")) << path;
  }
  // Nothing was made there either that would be proof the next time.
  EXPECT_FALSE(std::filesystem::exists(foreign[1] + "/am.guard"));
  EXPECT_FALSE(std::filesystem::exists(foreign[3] + "/am.guard"));
}

TEST_F(JobRemainsTest, OfAKilledClientsStagingNothingStays) {
  EXPECT_EQ(SweepStaging(), 0);
  const std::string staging = storage::StagingFolder(local_dir_.path());
  const std::string lost = staging + "/application_1700000000000_0001";
  const std::string lives = staging + "/application_1700000000000_0002";
  const std::string unnamed = staging + "/.application_1700000000000_0003";
  for (const std::string& path : {lost, lives, unnamed}) {
    std::filesystem::create_directories(path + "/secrets");
    std::ofstream(path + "/secrets/authority.pem") << "secret";
    std::ofstream(storage::JobFolder(path).am_guard()).close();
  }
  {
    const os::UniqueFd guard = os::LockFile(storage::JobFolder(lives).am_guard()).value();
    EXPECT_EQ(SweepStaging(), 1);
    EXPECT_FALSE(std::filesystem::exists(lost));
    EXPECT_TRUE(std::filesystem::exists(lives + "/secrets/authority.pem"));
  }
  EXPECT_EQ(SweepStaging(), 1);
  EXPECT_TRUE(std::filesystem::exists(unnamed));
}

}  // namespace
}  // namespace tony::client
