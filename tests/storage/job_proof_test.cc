// Tests which folders count as jobs' folders.
#include "storage/job_proof.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "os/files/folder_trust.h"
#include "storage/job_folder.h"
#include "tests/backend/local/job_ids.h"
#include "tests/os/process_support.h"
#include "tests/os/temporary_folder.h"

namespace tony::storage {
namespace {

class JobProofTest : public ::testing::Test {
 protected:
  bool IsJob(const std::string& name) const { return IsJobFolder(jobs_, name); }

  os::TemporaryFolder folder_;
  const os::FolderHandle jobs_ = os::OpenOwnFolder(folder_.path()).value();
  const std::string id_ = backend::TestJobId(1);
};

TEST_F(JobProofTest, NamesHaveAForm) {
  EXPECT_TRUE(IsLocalJobId("local-20261121-224903-7f3a"));
  for (const char* const name :
       {"", "local", "local-20261121-224903", "local-20261121-224903-7F3A",
        "local-20261121-224903-7f3", "local-20261121-224903-7f3a0", "local-2026112x-224903-7f3a",
        "Local-20261121-224903-7f3a", "application_1700000000000_0042", "yarn"}) {
    EXPECT_FALSE(IsLocalJobId(name)) << name;
  }
  EXPECT_TRUE(IsJobName("local-20261121-224903-7f3a"));
  EXPECT_TRUE(IsJobName("application_1700000000000_0042"));
  EXPECT_TRUE(IsJobName("application_1700000000000_10042"));
  for (const char* const name : {"application", "application_1_", "application__1",
                                 "application_1_2_3", "application_a_1", "job_1_2"}) {
    EXPECT_FALSE(IsJobName(name)) << name;
  }
}

TEST_F(JobProofTest, ANameOrAFileAloneIsNoProof) {
  std::filesystem::create_directories(folder_ / id_);
  EXPECT_FALSE(IsJob(id_));
  os::Put(folder_ / (id_ + "/notes"), "");
  EXPECT_FALSE(IsJob(id_));
  os::Put(folder_ / (id_ + "/am.guard"), "");
  EXPECT_TRUE(IsJob(id_));
  os::Put(folder_ / "thesis/am.guard", "");
  EXPECT_FALSE(IsJob("thesis"));
  os::Put(folder_ / ("." + id_ + "/am.guard"), "");
  EXPECT_TRUE(IsJob("." + id_));
  EXPECT_FALSE(IsJob(backend::TestJobId(2)));
}

TEST_F(JobProofTest, LinksAndOtherPeoplesFoldersAreNoJobs) {
  os::Put(folder_ / "elsewhere/am.guard", "");
  std::filesystem::create_directory_symlink("elsewhere", folder_ / id_);
  EXPECT_FALSE(IsJob(id_));
  const std::string linked = backend::TestJobId(2);
  std::filesystem::create_directories(folder_ / linked);
  std::filesystem::create_symlink("../elsewhere/am.guard", folder_ / (linked + "/am.guard"));
  EXPECT_FALSE(IsJob(linked));
  const std::string open = backend::TestJobId(3);
  os::Put(folder_ / (open + "/am.guard"), "");
  ASSERT_EQ(chmod((folder_ / open).c_str(), 0777), 0);
  EXPECT_FALSE(IsJob(open));
  if (geteuid() != 0) return;
  const std::string foreign = backend::TestJobId(4);
  os::Put(folder_ / (foreign + "/am.guard"), "");
  ASSERT_EQ(chown((folder_ / foreign).c_str(), 54322, 54322), 0);
  EXPECT_FALSE(IsJob(foreign));
}

TEST_F(JobProofTest, AllThatAJobFolderNamesIsAJobs) {
  const JobFolder job(folder_ / id_);
  for (const std::string& path :
       {job.job_xml(), job.staged(), job.events(), job.am_address(), job.usage(), job.am_lock(),
        job.am_guard(), job.secrets() + "/x", job.archives() + "/x", job.cache() + "/x",
        job.containers() + "/x", job.logs() + "/x", job.checkpoints() + "/x",
        job.root() + "/journal/00000001.json", job.root() + "/.tony-AbCdEf"}) {
    os::Put(path, "");
  }
  for (const std::string& proof :
       {job.job_xml(), job.staged(), job.events(), job.am_lock(), job.am_guard()}) {
    std::filesystem::remove(proof);
  }
  EXPECT_FALSE(IsJobFolder(jobs_, id_));
  EXPECT_TRUE(IsJobOrItsRest(jobs_, id_));
  os::Put(job.root() + "/notes", "");
  EXPECT_FALSE(IsJobOrItsRest(jobs_, id_));
}

TEST_F(JobProofTest, OfAFolderThatCannotBeRemovedTheProofStays) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  constexpr uid_t kOwner = 54321;
  const JobFolder job(folder_ / id_);
  os::Put(job.am_guard(), "");
  os::Put(job.events(), "");
  // A file that a program of another user has left.
  os::Put(job.containers() + "/foreign/file", "");
  for (const std::string& path :
       {folder_.path(), job.root(), job.am_guard(), job.events(), job.containers()}) {
    ASSERT_EQ(chown(path.c_str(), kOwner, kOwner), 0);
  }
  os::LinePipe answer;
  const pid_t owner = os::ForkChild([&] {
    if (setgid(kOwner) != 0 || setuid(kOwner) != 0) return;
    dprintf(answer.write_fd(), "%s\n", RemoveJobFolder(jobs_, id_).ToString().c_str());
  });
  EXPECT_THAT(answer.ReadLine().value_or(""), testing::HasSubstr("foreign"));
  waitpid(owner, nullptr, 0);
  EXPECT_FALSE(os::Exists(job.events()));
  EXPECT_TRUE(os::Exists(job.am_guard()));
  std::filesystem::remove_all(job.containers());
  ASSERT_EQ(chown(folder_.path().c_str(), 0, 0), 0);
  ASSERT_EQ(chown(job.root().c_str(), 0, 0), 0);
  EXPECT_EQ(RemoveJobFolder(jobs_, id_), absl::OkStatus());
  EXPECT_FALSE(os::Exists(job.root()));
}

}  // namespace
}  // namespace tony::storage
