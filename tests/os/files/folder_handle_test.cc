// Tests making files in a folder that is held open, even when its path leads elsewhere meanwhile.
#include "os/files/folder_handle.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "os/archives/archive_writer.h"
#include "os/archives/virtual_environment.h"
#include "os/files/file_lock.h"
#include "os/files/files.h"
#include "os/files/folder_trust.h"
#include "tests/os/network/second_user.h"
#include "tests/os/temporary_folder.h"

namespace tony::os {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class FolderHandleTest : public ::testing::Test {
 protected:
  FolderHandle Made(const std::string& name) { return root_.Make(name).value(); }
  /// Another folder takes the place of one that is held.
  void Swap(const std::string& name) {
    std::filesystem::rename(folder_ / name, folder_ / (name + ".held"));
    std::filesystem::create_directories(folder_ / name);
  }

  TemporaryFolder folder_;
  FolderHandle root_ = OpenOwnFolder(folder_.path()).value();
};

TEST_F(FolderHandleTest, WhateverIsMadeLandsInTheFolderThatIsHeld) {
  const FolderHandle held = Made("job");
  Swap("job");
  Put(folder_ / "source/main.py", "code");
  ASSERT_EQ(held.CreateFile("job.xml", "mine"), absl::OkStatus());
  ASSERT_EQ(held.ReplaceFile("job.xml", "again"), absl::OkStatus());
  ASSERT_EQ(held.CopyFile(folder_ / "source/main.py", "copy"), absl::OkStatus());
  ASSERT_TRUE(held.Make("secrets").ok());
  ASSERT_TRUE(held.OpenForAppending("log").ok());
  ASSERT_TRUE(LockFile(held, "lock").ok());
  PackOptions options;
  options.archive_folder = held.fd();
  ASSERT_TRUE(PackFolder(folder_ / "source", held.PathOf("program"), options).ok());
  ASSERT_TRUE(PackVirtualEnvironment(folder_ / "source", held.PathOf("venv"), held.fd()).ok());
  ASSERT_TRUE(
      PackVirtualEnvironment(folder_ / "job.held/venv", held.PathOf("copied"), held.fd()).ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "job"));
  EXPECT_THAT(held.List().value(), UnorderedElementsAre("job.xml", "copy", "secrets", "log", "lock",
                                                        "program", "venv", "copied"));
  EXPECT_EQ(Contents(folder_ / "job.held/job.xml"), "again");
}

TEST_F(FolderHandleTest, ModesAreExactWhateverTheUmask) {
  Put(folder_ / "script", "#!");
  ASSERT_EQ(chmod((folder_ / "script").c_str(), 0750), 0);
  for (const mode_t mask : {0, 0777}) {
    const ScopedUmask scoped(mask);
    const FolderHandle made = Made("folder");
    ASSERT_EQ(made.CreateFile("file", "x"), absl::OkStatus());
    ASSERT_TRUE(made.OpenForAppending("log").ok());
    ASSERT_TRUE(LockFile(made, "lock").ok());
    ASSERT_EQ(made.CopyFile(folder_ / "script", "script"), absl::OkStatus());
    EXPECT_EQ(ModeOf(folder_ / "folder"), 0700u);
    for (const char* const name : {"file", "log", "lock"}) {
      EXPECT_EQ(ModeOf(made.PathOf(name)), 0600u) << name;
    }
    EXPECT_EQ(ModeOf(made.PathOf("script")), 0750u);
    ASSERT_EQ(RemoveTree(made.path()), absl::OkStatus());
  }
}

TEST_F(FolderHandleTest, AUmaskThatTakesSomeOfTheOwnersPermissionsIsUndone) {
  if (!CanBecomeSecondUser()) GTEST_SKIP() << "only root can become another user";
  ASSERT_EQ(chown(folder_.path().c_str(), kSecondUser, kSecondUser), 0);
  EXPECT_EQ(AsSecondUser([this] {
              umask(0400);
              return root_.Make("new").status().ToString();
            }),
            "OK");
  EXPECT_EQ(ModeOf(folder_ / "new"), 0700u);
}

TEST_F(FolderHandleTest, AFolderThatHasNotGotItsModeYetIsOpenedAllTheSame) {
  if (!CanBecomeSecondUser()) GTEST_SKIP() << "only root can become another user";
  Made("new");
  Made("meant");
  for (const char* const name : {"", "/new", "/meant"}) {
    ASSERT_EQ(chown((folder_.path() + name).c_str(), kSecondUser, kSecondUser), 0);
  }
  ASSERT_EQ(chmod((folder_ / "new").c_str(), 0), 0);
  ASSERT_EQ(chmod((folder_ / "meant").c_str(), 0300), 0);
  const auto open = [this](const std::string& name) {
    return AsSecondUser([&] { return root_.OpenOrMake(name).status().ToString(); });
  };
  EXPECT_EQ(open("new"), "OK");
  EXPECT_EQ(ModeOf(folder_ / "new"), 0700u);
  EXPECT_THAT(open("meant"), HasSubstr("Permission denied"));
  EXPECT_EQ(ModeOf(folder_ / "meant"), 0300u);
}

TEST_F(FolderHandleTest, NothingIsReachedThroughALink) {
  const TemporaryFolder elsewhere;
  Put(elsewhere / "file", "theirs");
  std::filesystem::create_directory_symlink(elsewhere.path(), folder_ / "folder");
  std::filesystem::create_symlink(elsewhere / "file", folder_ / "file");
  const absl::Status folder = root_.OpenOrMake("folder").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(folder)) << folder;
  EXPECT_THAT(std::string(folder.message()), HasSubstr("symbolic link"));
  EXPECT_TRUE(absl::IsAlreadyExists(root_.CreateFile("file", "mine")));
  EXPECT_FALSE(root_.OpenForAppending("file").ok());
  EXPECT_FALSE(LockFile(root_, "file").ok());
  EXPECT_FALSE(root_.HasOwnFile("file"));
  EXPECT_EQ(root_.ReplaceFile("file", "mine"), absl::OkStatus());  // the link itself
  EXPECT_EQ(Contents(elsewhere / "file"), "theirs");
}

TEST_F(FolderHandleTest, NamesAreOfOnePart) {
  for (const char* const name : {"", ".", "..", "a/b", "/etc"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(root_.Make(name).status())) << name;
    EXPECT_TRUE(absl::IsInvalidArgument(root_.Open(name).status())) << name;
    EXPECT_TRUE(absl::IsInvalidArgument(root_.CreateFile(name, ""))) << name;
    EXPECT_TRUE(absl::IsInvalidArgument(root_.Rename(name, "x"))) << name;
  }
}

TEST_F(FolderHandleTest, AFolderOfOthersOrForOthersIsNotOpened) {
  Made("open");
  ASSERT_EQ(chmod((folder_ / "open").c_str(), 0777), 0);
  EXPECT_TRUE(absl::IsPermissionDenied(root_.OpenOrMake("open").status()));
  if (geteuid() != 0) return;
  Made("foreign");
  ASSERT_EQ(chown((folder_ / "foreign").c_str(), 54322, 54322), 0);
  EXPECT_TRUE(absl::IsPermissionDenied(root_.OpenOrMake("foreign").status()));
}

TEST_F(FolderHandleTest, ARenamedFolderReplacesNothing) {
  const FolderHandle first = Made("first");
  ASSERT_EQ(Made("second").CreateFile("file", ""), absl::OkStatus());
  EXPECT_TRUE(absl::IsAlreadyExists(root_.Rename("first", "second")));
  ASSERT_EQ(root_.Rename("first", "third"), absl::OkStatus());
  EXPECT_TRUE(absl::IsNotFound(root_.Open("first").status()));
  EXPECT_TRUE(root_.Open("third").ok());
}

TEST_F(FolderHandleTest, OnlyPlainFilesAreCopiedAndHalfACopyIsNoCopy) {
  EXPECT_TRUE(absl::IsNotFound(root_.CopyFile(folder_ / "none", "copy")));
  EXPECT_TRUE(absl::IsInvalidArgument(root_.CopyFile(folder_.path(), "copy")));
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_TRUE(absl::IsInvalidArgument(root_.CopyFile(folder_ / "pipe", "copy")));
  EXPECT_FALSE(Exists(folder_ / "copy"));
}

}  // namespace
}  // namespace tony::os
