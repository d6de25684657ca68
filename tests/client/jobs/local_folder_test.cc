// Tests which folder becomes tony's, and which is refused as somebody else's.
#include "client/jobs/local_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "backend/local/ledger.h"
#include "storage/job_folder.h"
#include "tests/backend/local/job_ids.h"
#include "tests/os/temporary_folder.h"

namespace tony::client {
namespace {

using os::Exists;
using os::Put;
using ::testing::AllOf;
using ::testing::HasSubstr;

class LocalFolderTest : public ::testing::Test {
 protected:
  std::string Refusal() const {
    const absl::Status status = OpenLocalFolder(local_).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_FALSE(Exists(marker_));
    return std::string(status.message());
  }
  void ExpectTonys() const {
    const absl::Status status = OpenLocalFolder(local_).status();
    EXPECT_EQ(status, absl::OkStatus());
    EXPECT_TRUE(Exists(marker_));
  }
  std::string Job(const std::string& id) const { return local_ + "/jobs/" + id; }

  os::TemporaryFolder folder_;
  const std::string local_ = folder_ / "local";
  const std::string marker_ = local_ + "/.tony-folder";
};

TEST_F(LocalFolderTest, ANewOrAnEmptyFolderBecomesTonys) {
  ExpectTonys();
  EXPECT_EQ(os::ModeOf(local_), 0700u);
  EXPECT_THAT(os::Contents(marker_), HasSubstr("tony.local.dir"));
  ExpectTonys();
  std::filesystem::remove(marker_);
  ExpectTonys();
}

TEST_F(LocalFolderTest, AFolderWithSomethingElseInItDoesNot) {
  for (const char* const name :
       {"notes.txt", ".git/config", "jobs/thesis/text", "jobs/thesis/am.guard", "jobs/run.sh",
        "staging/site/index.html", "ledger/accounts.json", "ledger/yarn.lock", "ledger/old/x"}) {
    Put(local_ + "/" + name, "mine");
    Put(Job(backend::TestJobId(1)) + "/am.guard", "");
    EXPECT_THAT(Refusal(), AllOf(HasSubstr("'" + local_ + "' has something in it"),
                                 HasSubstr("set tony.local.dir to a new or an empty folder")))
        << name;
    EXPECT_EQ(os::Contents(local_ + "/" + name), "mine");
    std::filesystem::remove_all(local_);
  }
  Put(local_ + "/jobs/" + backend::TestJobId(1) + "/chapter.tex", "mine");
  EXPECT_THAT(Refusal(), HasSubstr(backend::TestJobId(1)));
}

TEST_F(LocalFolderTest, WhatEarlierVersionsMadeGoesOn) {
  for (const char* const file : {"am.guard", "am.lock", "job.xml", "staged.json", "events.jsonl"}) {
    Put(Job(backend::TestJobId(1)) + "/" + file, "");
    Put(Job(backend::TestJobId(1)) + "/logs/worker-0/anything", "");
    // One that is being made, and one whose removal was cut off.
    Put(Job("." + backend::TestJobId(2)) + "/am.guard", "");
    Put(Job(backend::TestJobId(3)) + "/logs/am.log", "");
    std::filesystem::create_directories(Job(backend::TestJobId(4)));
    Put(local_ + "/staging/application_1700000000000_0042/am.guard", "");
    Put(local_ + "/yarn/cache/anything", "");
    for (const char* const name : {"mutex", ".tony-AbCdEf"}) Put(local_ + "/ledger/" + name, "");
    for (const char* const suffix : {".lock", ".json", ".json.corrupt"}) {
      Put(local_ + "/ledger/" + backend::TestJobId(1) + suffix, "");
    }
    ExpectTonys();
    std::filesystem::remove_all(local_);
  }
}

TEST_F(LocalFolderTest, AJobThatCannotBeLookedIntoIsNoHindrance) {
  Put(Job(backend::TestJobId(1)) + "/am.guard", "");
  ASSERT_EQ(chmod(Job(backend::TestJobId(1)).c_str(), 0777), 0);  // somebody has shared its logs
  ExpectTonys();
}

TEST_F(LocalFolderTest, WhatIsInATonysFolderLaterDoesNotMatter) {
  ExpectTonys();
  Put(local_ + "/notes.txt", "mine");
  Put(Job("thesis") + "/text", "mine");
  ExpectTonys();
}

TEST_F(LocalFolderTest, AMarkerOfAnotherKindIsNone) {
  Put(folder_ / "elsewhere", "");
  std::filesystem::create_directories(local_);
  std::filesystem::create_symlink(folder_ / "elsewhere", marker_);
  const absl::Status status = OpenLocalFolder(local_).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
}

TEST_F(LocalFolderTest, AFolderBelowAnotherUsersIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may give a folder to another user";
  std::filesystem::create_directories(folder_ / "theirs");
  ASSERT_EQ(chown((folder_ / "theirs").c_str(), 54322, 54322), 0);
  const absl::Status status = OpenLocalFolder(folder_ / "theirs/mine").status();
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("tony.local.dir"), HasSubstr(folder_ / "theirs' belongs to")));
  EXPECT_FALSE(Exists(folder_ / "theirs/mine"));
}

}  // namespace
}  // namespace tony::client
