// What is removed of jobs that were lost, and of which nothing is touched.
#include "client/job_remains.h"

#include <gtest/gtest.h>

#include <memory>

#include "backend/local/ledger.h"
#include "tests/client/job_folders.h"

namespace tony::client {
namespace {

class JobRemainsTest : public ::testing::Test {
 protected:
  // A job as its ApplicationMaster leaves it when it is killed.
  backend::JobFolder Lost(const std::string& id) {
    const backend::JobFolder folder = WriteJob(local_dir_.path(), id, RunningJob().events());
    for (const std::string& path : folder.transient()) std::filesystem::create_directories(path);
    std::ofstream(folder.secrets() + "/authority.pem") << "secret";
    return folder;
  }
  static int Count(const backend::JobFolder& folder) {
    int count = 0;
    for (const std::string& path : folder.transient()) count += std::filesystem::exists(path);
    return count;
  }
  int SweepStaging() { return RemoveLostStaging(backend::StagingFolder(local_dir_.path())); }
  int Sweep() { return RemoveRemainsOfLostJobs(local_dir_.path()); }

  TemporaryFolder local_dir_;
};

TEST_F(JobRemainsTest, OfLostJobsOnlyTheHistoryStays) {
  const backend::JobFolder one = Lost("one");
  const backend::JobFolder two = Lost("two");
  EXPECT_EQ(Sweep(), 2);
  for (const backend::JobFolder& folder : {one, two}) {
    EXPECT_EQ(Count(folder), 0);
    EXPECT_TRUE(std::filesystem::exists(folder.events()));
    EXPECT_TRUE(std::filesystem::exists(folder.logs()));
  }
  EXPECT_EQ(Sweep(), 0);
}

TEST_F(JobRemainsTest, AJobWhoseApplicationMasterOrClientLivesIsLeftAlone) {
  const backend::JobFolder master = Lost("master");
  const backend::JobFolder client = Lost("client");
  {
    const HeldLock held(master);
    const os::UniqueFd guard = os::LockFile(client.am_guard()).value();
    EXPECT_EQ(Sweep(), 0);
    EXPECT_EQ(Count(master), 5);
    EXPECT_EQ(Count(client), 5);
  }
  EXPECT_EQ(Sweep(), 2);
}

TEST_F(JobRemainsTest, AJobWhoseExecutorsStillEndIsLeftAlone) {
  const backend::JobFolder folder = Lost("job");
  const auto ledger = backend::Ledger::Open(backend::LedgerFolder(local_dir_.path()));
  ASSERT_TRUE(ledger.ok()) << ledger.status();
  auto claim = backend::LedgerClaim::Open(*ledger, "job");
  ASSERT_TRUE(claim.ok()) << claim.status();
  ASSERT_EQ((*claim)->Want({{"worker", 1, {}}}), absl::OkStatus());
  EXPECT_EQ(Sweep(), 0);
  EXPECT_EQ(Count(folder), 5);
  claim->reset();
  EXPECT_EQ(Sweep(), 1);
}

TEST_F(JobRemainsTest, AJobWhoseClientWasKilledWhileItStagedIsTidiedUp) {
  const backend::JobFolder folder = WriteJob(local_dir_.path(), "job", {});
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

TEST_F(JobRemainsTest, OfAKilledClientsStagingNothingStays) {
  EXPECT_EQ(SweepStaging(), 0);
  const std::string staging = backend::StagingFolder(local_dir_.path());
  for (const char* const id : {"/lost", "/lives", "/.unnamed"}) {
    std::filesystem::create_directories(staging + id + "/secrets");
    std::ofstream(staging + id + "/secrets/authority.pem") << "secret";
  }
  {
    const os::UniqueFd guard =
        os::LockFile(backend::JobFolder(staging + "/lives").am_guard()).value();
    EXPECT_EQ(SweepStaging(), 1);
    EXPECT_FALSE(std::filesystem::exists(staging + "/lost"));
    EXPECT_TRUE(std::filesystem::exists(staging + "/lives/secrets/authority.pem"));
  }
  EXPECT_EQ(SweepStaging(), 1);
  EXPECT_TRUE(std::filesystem::exists(staging + "/.unnamed"));
}

}  // namespace
}  // namespace tony::client
