// Locks of folders: who gets one, who holds it, and what frees it.
#include "os/files/folder_lock.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "os/files/user_names.h"
#include "tests/os/temporary_folder.h"

namespace tony::os {
namespace {

TEST(FolderLockTest, IsHeldOnceAndLeavesNoFile) {
  const TemporaryFolder folder;
  absl::StatusOr<UniqueFd> lock = LockFolder(folder.path());
  ASSERT_TRUE(lock.ok()) << lock.status();
  const absl::StatusOr<UniqueFd> second = LockFolder(folder.path());
  EXPECT_TRUE(absl::IsAlreadyExists(second.status()));
  EXPECT_EQ(second.status().message(),
            absl::StrCat("process ", getpid(), " of ", UserName(getuid())));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  lock->Reset();
  EXPECT_TRUE(LockFolder(folder.path()).ok());
}

TEST(FolderLockTest, LivesAsLongAsAnyProcessThatInheritedIt) {
  const TemporaryFolder folder;
  absl::StatusOr<UniqueFd> lock = LockFolder(folder.path());
  ASSERT_TRUE(lock.ok()) << lock.status();
  const pid_t child = fork();
  if (child == 0) {
    while (true) pause();
  }
  lock->Reset();
  EXPECT_TRUE(absl::IsAlreadyExists(LockFolder(folder.path()).status()));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(LockFolder(folder.path()).ok());
}

TEST(FolderLockTest, NeedsAFolder) {
  const TemporaryFolder folder;
  Put(folder / "file", "");
  EXPECT_TRUE(absl::IsNotFound(LockFolder(folder / "none").status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(LockFolder(folder / "file").status()));
}

}  // namespace
}  // namespace tony::os
