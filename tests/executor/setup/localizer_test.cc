// Tests a container's working folder, for each kind of staged thing.
#include "executor/setup/localizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "os/archives/archive_writer.h"
#include "os/archives/virtual_environment.h"
#include "tests/os/temporary_folder.h"

namespace tony::executor {
namespace {

using os::Contents;
using os::Put;
using ::testing::HasSubstr;

class LocalizerTest : public ::testing::Test {
 protected:
  LocalizerTest() {
    std::filesystem::create_directories(working_);
    Put(folder_ / "source/main.py", "print('hi')\n");
    Put(folder_ / "source/a b/$x.txt", "data");
  }

  static v1::Archive Entry(v1::Archive::Kind kind, const std::string& path, const std::string& name,
                           const std::string& digest = "") {
    v1::Archive archive;
    archive.set_kind(kind);
    archive.set_path(path);
    archive.set_name(name);
    archive.set_digest(digest);
    return archive;
  }
  // The source folder, packed.
  std::string Packed() {
    const std::string path = folder_ / "packed";
    if (!os::Exists(path)) {
      EXPECT_TRUE(os::PackFolder(folder_ / "source", path).ok());
    }
    return path;
  }
  // A virtual environment whose interpreter stands in `machine`.
  v1::Archive VirtualEnvironment() {
    Put(interpreter_, "#!/bin/sh\n");
    std::filesystem::permissions(interpreter_, std::filesystem::perms::owner_all);
    Put(folder_ / "environment/pyvenv.cfg", "version = 3.99.1\n");
    std::filesystem::create_directories(folder_ / "environment/bin");
    std::filesystem::create_symlink(interpreter_, folder_ / "environment/bin/python3");
    const auto packed =
        os::PackVirtualEnvironment(folder_ / "environment", folder_ / "environment.packed");
    EXPECT_TRUE(packed.ok()) << packed.status();
    return Entry(v1::Archive::VIRTUAL_ENVIRONMENT, folder_ / "environment.packed", "venv",
                 packed->digest);
  }
  absl::Status Localize(const std::vector<v1::Archive>& archives) {
    return executor::Localize(archives, working_, folder_ / "cache", std::chrono::seconds(20),
                              {folder_ / "machine"});
  }

  os::TemporaryFolder folder_;
  const std::string working_ = folder_ / "working";
  const std::string interpreter_ = folder_ / "machine/python3.99";
};

TEST_F(LocalizerTest, AProgramIsUnpackedIntoTheWorkingFolderItself) {
  ASSERT_EQ(Localize({Entry(v1::Archive::PROGRAM, Packed(), "")}), absl::OkStatus());
  EXPECT_EQ(Contents(working_ + "/main.py"), "print('hi')\n");
  EXPECT_EQ(Contents(working_ + "/a b/$x.txt"), "data");
}

TEST_F(LocalizerTest, AnArchiveIsUnpackedIntoAFolderOfItsName) {
  ASSERT_EQ(Localize({Entry(v1::Archive::ARCHIVE, Packed(), "the data")}), absl::OkStatus());
  EXPECT_EQ(Contents(working_ + "/the data/main.py"), "print('hi')\n");
  EXPECT_FALSE(os::Exists(working_ + "/main.py"));
}

TEST_F(LocalizerTest, AFileIsLaidDownUnderItsNameWithItsPermissions) {
  const std::string script = folder_ / "run me.sh";
  Put(script, "#!/bin/sh\n");
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  ASSERT_EQ(Localize({Entry(v1::Archive::FILE, script, "run.sh")}), absl::OkStatus());
  EXPECT_EQ(Contents(working_ + "/run.sh"), "#!/bin/sh\n");
  EXPECT_EQ(os::ModeOf(working_ + "/run.sh"), 0700u);
}

TEST_F(LocalizerTest, AVirtualEnvironmentIsUnpackedOnceForTheHostAndLinked) {
  const v1::Archive environment = VirtualEnvironment();
  ASSERT_EQ(Localize({environment}), absl::OkStatus());
  const std::string shared = folder_ / ("cache/" + environment.digest());
  EXPECT_EQ(os::LinkTarget(working_ + "/venv"), shared);
  EXPECT_EQ(std::filesystem::canonical(working_ + "/venv/bin/python3"), interpreter_);

  // A second container takes the same folder, and does not need the archive any more.
  std::filesystem::remove(environment.path());
  const std::string second = folder_ / "second";
  std::filesystem::create_directories(second);
  ASSERT_EQ(
      executor::Localize({environment}, second, folder_ / "cache", std::chrono::seconds(20), {}),
      absl::OkStatus());
  EXPECT_EQ(os::LinkTarget(second + "/venv"), shared);
}

TEST_F(LocalizerTest, AnEnvironmentWithoutItsInterpreterIsRefused) {
  const v1::Archive environment = VirtualEnvironment();
  std::filesystem::remove(interpreter_);
  EXPECT_EQ(Localize({environment}).code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(os::Exists(working_ + "/venv"));
}

TEST_F(LocalizerTest, AllAreLaidDownInTheirOrderUntilOneFails) {
  Put(folder_ / "extra.txt", "extra");
  const std::string missing = folder_ / "missing.zip";
  const absl::Status status = Localize({Entry(v1::Archive::PROGRAM, Packed(), ""),
                                        Entry(v1::Archive::ARCHIVE, missing, "data"),
                                        Entry(v1::Archive::FILE, folder_ / "extra.txt", "extra")});
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr(missing));
  EXPECT_TRUE(os::Exists(working_ + "/main.py"));
  EXPECT_FALSE(os::Exists(working_ + "/extra"));
}

TEST_F(LocalizerTest, NothingIsReplaced) {
  Put(folder_ / "other.py", "other");
  const absl::Status status = Localize({Entry(v1::Archive::PROGRAM, Packed(), ""),
                                        Entry(v1::Archive::FILE, folder_ / "other.py", "main.py")});
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(status.message()), HasSubstr(working_ + "/main.py"));
  EXPECT_EQ(Contents(working_ + "/main.py"), "print('hi')\n");

  Put(working_ + "/venv/mine.txt", "mine");
  const absl::Status linked = Localize({VirtualEnvironment()});
  EXPECT_EQ(linked.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(linked.message()), HasSubstr(working_ + "/venv"));
}

TEST_F(LocalizerTest, WhatIsNoArchiveIsRefusedByName) {
  const std::string text = folder_ / "notes.txt";
  Put(text, "just text");
  for (const auto kind : {v1::Archive::PROGRAM, v1::Archive::ARCHIVE}) {
    const absl::Status status = Localize({Entry(kind, text, "x")});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  }
}

TEST_F(LocalizerTest, AnUnknownKindIsRefusedByName) {
  const absl::Status status = Localize({Entry(v1::Archive::KIND_UNSPECIFIED, Packed(), "x")});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(Packed()));
}

TEST_F(LocalizerTest, NothingStagedIsFine) { EXPECT_EQ(Localize({}), absl::OkStatus()); }

}  // namespace
}  // namespace tony::executor
