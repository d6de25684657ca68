// Tests the content of a job's folder before its ApplicationMaster starts.
#include "client/staging/staging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "os/archives/archive_reader.h"
#include "os/archives/archive_writer.h"
#include "os/files/file_lock.h"
#include "rpc/security/certificate_authority.h"
#include "tests/client/staged_job.h"

namespace tony::client {
namespace {

using os::Contents;
using os::ModeOf;
using os::Put;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class StagingTest : public StagedJobTest {
 protected:
  // The entry for which `local_name` was given; the test fails when there are none or several.
  v1::StagedFiles::Entry EntryOf(const std::string& local_name) const {
    std::vector<v1::StagedFiles::Entry> found;
    const v1::StagedFiles staged = Staged();
    for (const v1::StagedFiles::Entry& entry : staged.entries()) {
      if (entry.archive().name() == local_name) found.push_back(entry);
    }
    EXPECT_EQ(found.size(), 1u) << local_name;
    return found.empty() ? v1::StagedFiles::Entry{} : found[0];
  }
  std::string Unpacked(const std::string& archive) const {
    const std::string destination = folder_ / "unpacked";
    const auto unpacked = os::UnpackArchive(archive, destination);
    EXPECT_TRUE(unpacked.ok()) << unpacked.status();
    return destination;
  }
  void ExpectNothingLeft() const { EXPECT_TRUE(std::filesystem::is_empty(local_dir_ + "/jobs")); }
};

std::vector<std::string> TypesOf(const v1::StagedFiles::Entry& entry) {
  return {entry.types().begin(), entry.types().end()};
}

TEST_F(StagingTest, TheJobComesBackFromItsFile) {
  const jobfile::LoadedJob job = Load({{"tony.worker.command", "run '<a>' & echo \"$HOME\"\n"},
                                       {"tony.ps.instances", "2"},
                                       {"tony.ps.command", "serve"},
                                       {"tony.ps.memory", "128m"}});
  ASSERT_EQ(StageLoaded(job), absl::OkStatus());
  jobfile::Sources sources;
  sources.job_file = job_folder_.job_xml();
  sources.working_folder = "/";
  sources.home_folder = folder_.path();
  const jobfile::LoadedJob read = jobfile::LoadJob(sources, jobfile::FileChecks::kOff);
  EXPECT_TRUE(read.result.ok()) << jobfile::RenderProblems(read.result.problems);
  EXPECT_TRUE(read.result.job == job.result.job);
  EXPECT_TRUE(read.result.local == job.result.local);
}

TEST_F(StagingTest, NobodyElseMayLook) {
  const os::ScopedUmask none(0);
  Put(folder_ / "program/main.py", "x");
  ASSERT_EQ(Stage({{"tony.application.src-dir", folder_ / "program"}}), absl::OkStatus());
  for (const std::string& path : {local_dir_, job_folder_.root(), job_folder_.secrets(),
                                  job_folder_.archives(), job_folder_.logs()}) {
    EXPECT_EQ(ModeOf(path), 0700u) << path;
  }
  for (const std::string& path :
       {job_folder_.authority(), job_folder_.client_credentials(), job_folder_.job_xml(),
        job_folder_.staged(), job_folder_.archives() + "/program"}) {
    EXPECT_EQ(ModeOf(path), 0600u) << path;
  }
}

TEST_F(StagingTest, SomebodyCaresForTheJobUntilTheGuardIsLetGo) {
  ASSERT_EQ(Stage(), absl::OkStatus());
  EXPECT_TRUE(os::IsFileLocked(job_folder_.am_guard()));
  guard_.Reset();
  EXPECT_FALSE(os::IsFileLocked(job_folder_.am_guard()));
}

TEST_F(StagingTest, TheSecretsAreThisJobs) {
  ASSERT_EQ(Stage(), absl::OkStatus());
  const auto authority =
      rpc::CertificateAuthority::Load(rpc::ReadSecretFile(job_folder_.authority()).value());
  ASSERT_TRUE(authority.ok()) << authority.status();
  EXPECT_EQ(authority->job_id(), job_id_);
  const auto client = rpc::LoadCredentials(job_folder_.client_credentials());
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_EQ(client->ca_pem, authority->Issue(rpc::ClientRole(job_id_)).value().ca_pem);
}

TEST_F(StagingTest, AProgramsFolderIsPackedForAll) {
  Put(folder_ / "my program/a b/$x 'y'.py", "code");
  ASSERT_EQ(Stage({{"tony.application.src-dir", folder_ / "my program"}}), absl::OkStatus());
  const v1::StagedFiles::Entry entry = EntryOf("");
  EXPECT_EQ(entry.archive().kind(), v1::Archive::PROGRAM);
  EXPECT_EQ(entry.archive().digest().size(), 64u);
  EXPECT_THAT(TypesOf(entry), IsEmpty());
  EXPECT_EQ(Contents(Unpacked(entry.archive().path()) + "/a b/$x 'y'.py"), "code");
}

TEST_F(StagingTest, AProgramThatIsAnArchiveIsTakenAsItIs) {
  Put(folder_ / "program/main.py", "code");
  const std::string archive = folder_ / "program.tar.zst";
  ASSERT_TRUE(os::PackFolder(folder_ / "program", archive).ok());
  ASSERT_EQ(Stage({{"tony.application.src-dir", archive}}), absl::OkStatus());
  const v1::StagedFiles::Entry entry = EntryOf("");
  EXPECT_EQ(entry.archive().kind(), v1::Archive::PROGRAM);
  EXPECT_EQ(Contents(entry.archive().path()), Contents(archive));
}

TEST_F(StagingTest, AVirtualEnvironmentIsOfItsOwnKind) {
  Put(folder_ / "environment/pyvenv.cfg", "version = 3.11.2\n");
  std::filesystem::create_directories(folder_ / "environment/bin");
  std::filesystem::create_symlink("/usr/bin/python3", folder_ / "environment/bin/python3");
  ASSERT_EQ(Stage({{"tony.application.python-venv", folder_ / "environment"}}), absl::OkStatus());
  const v1::StagedFiles::Entry entry = EntryOf("venv");
  EXPECT_EQ(entry.archive().kind(), v1::Archive::VIRTUAL_ENVIRONMENT);
  EXPECT_EQ(entry.archive().digest().size(), 64u);
  EXPECT_THAT(TypesOf(entry), IsEmpty());
}

TEST_F(StagingTest, EachSourceIsStagedOnceForAllWhoAskForIt) {
  Put(folder_ / "data.txt", "data");
  Put(folder_ / "workers only", "w");
  ASSERT_EQ(Stage({{"tony.ps.instances", "1"},
                   {"tony.ps.memory", "64m"},
                   {"tony.ps.command", "exit 0"},
                   {"tony.containers.resources", folder_ / "data.txt"},
                   {"tony.worker.resources", folder_ / "workers only"}}),
            absl::OkStatus());
  EXPECT_EQ(Staged().entries_size(), 2);
  EXPECT_THAT(TypesOf(EntryOf("data.txt")), ::testing::UnorderedElementsAre("worker", "ps"));
  EXPECT_THAT(TypesOf(EntryOf("workers only")), ElementsAre("worker"));
  EXPECT_EQ(Contents(EntryOf("data.txt").archive().path()), "data");
}

TEST_F(StagingTest, AResourceIsAFileAnArchiveOrAFolder) {
  Put(folder_ / "folder/inside.txt", "inside");
  Put(folder_ / "plain.txt", "plain");
  ASSERT_TRUE(os::PackFolder(folder_ / "folder", folder_ / "packed.zip").ok());
  ASSERT_EQ(Stage({{"tony.worker.resources",
                    absl::StrCat(folder_ / "plain.txt", "::renamed.txt,", folder_ / "packed.zip",
                                 "::unpacked#archive,", folder_ / "packed.zip", ",",
                                 folder_ / "folder")}}),
            absl::OkStatus());
  EXPECT_EQ(EntryOf("renamed.txt").archive().kind(), v1::Archive::FILE);
  EXPECT_EQ(EntryOf("unpacked").archive().kind(), v1::Archive::ARCHIVE);
  EXPECT_EQ(EntryOf("packed.zip").archive().kind(), v1::Archive::FILE);
  const v1::Archive folder = EntryOf("folder").archive();
  EXPECT_EQ(folder.kind(), v1::Archive::ARCHIVE);
  EXPECT_EQ(Contents(Unpacked(folder.path()) + "/inside.txt"), "inside");
}

TEST_F(StagingTest, AJobWithoutTasksStagesTheMastersFiles) {
  Put(folder_ / "notebook.ipynb", "{}");
  ASSERT_EQ(Stage({{"tony.worker.instances", "0"},
                   {"tony.application.framework", "standalone"},
                   {"tony.am.command", "exit 0"},
                   {"tony.am.resources", folder_ / "notebook.ipynb"}}),
            absl::OkStatus());
  EXPECT_THAT(TypesOf(EntryOf("notebook.ipynb")), ElementsAre("am"));
}

TEST_F(StagingTest, AJobOfThatNameIsNotTouched) {
  Put(job_folder_.root() + "/events.jsonl", "mine");
  EXPECT_EQ(Stage().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(Contents(job_folder_.root() + "/events.jsonl"), "mine");
  EXPECT_FALSE(os::Exists(job_folder_.job_xml()));
}

TEST_F(StagingTest, AProgramWithALinkOutOfItIsNamedAndNothingIsLeft) {
  Put(folder_ / "program/main.py", "x");
  std::filesystem::create_symlink("/etc/passwd", folder_ / "program/escape");
  const absl::Status status = Stage({{"tony.application.src-dir", folder_ / "program"}});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("escape"));
  ExpectNothingLeft();
}

TEST_F(StagingTest, AResourceThatHasVanishedIsNamedAndNothingIsLeft) {
  const std::string path = folder_ / "data.txt";
  Put(path, "x");
  const jobfile::LoadedJob job = Load({{"tony.worker.resources", path}});
  std::filesystem::remove(path);
  const absl::Status status = StageLoaded(job);
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr(path));
  ExpectNothingLeft();
}

TEST_F(StagingTest, ASourceThatCannotEvenBeLookedAtIsNamed) {
  Put(folder_ / "program/main.py", "x");
  jobfile::LoadedJob job = Load({{"tony.application.src-dir", folder_ / "program"}});
  const std::string loop = folder_ / "loop";
  std::filesystem::create_symlink("loop", loop);
  job.result.packaging.src_dir = loop;
  const absl::Status status = StageLoaded(job);
  std::filesystem::remove(loop);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr(loop));
  ExpectNothingLeft();
}

TEST_F(StagingTest, AFileInTheWayOfTheJobsFolderIsNamed) {
  Put(local_dir_, "a file");
  const absl::Status status = Stage();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr(local_dir_));
}

TEST_F(StagingTest, WhatWasStagedCanBeRemovedButForTheLogs) {
  Put(folder_ / "program/main.py", "x");
  ASSERT_EQ(Stage({{"tony.application.src-dir", folder_ / "program"}}), absl::OkStatus());
  Put(job_folder_.logs() + "/am.log", "why it did not start");
  ASSERT_EQ(RemoveStaged(job_folder_), absl::OkStatus());
  EXPECT_FALSE(os::Exists(job_folder_.secrets()));
  EXPECT_FALSE(os::Exists(job_folder_.archives()));
  EXPECT_EQ(Contents(job_folder_.logs() + "/am.log"), "why it did not start");
  EXPECT_EQ(RemoveStaged(job_folder_), absl::OkStatus());
}

}  // namespace
}  // namespace tony::client
