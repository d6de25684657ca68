// The lock of a file, held, asked about and let go.
#include "os/files/file_lock.h"

#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/os/process_support.h"
#include "tests/os/temporary_folder.h"

namespace tony::os {
namespace {

TEST(FileLock, IsHeldByOneAtATime) {
  TemporaryFolder folder;
  const std::string path = folder.path() + "/lock";
  EXPECT_FALSE(IsFileLocked(path));
  {
    absl::StatusOr<UniqueFd> held = LockFile(path);
    ASSERT_TRUE(held.ok());
    EXPECT_TRUE(IsFileLocked(path));
    EXPECT_EQ(LockFile(path).status().code(), absl::StatusCode::kAlreadyExists);
  }
  EXPECT_FALSE(IsFileLocked(path));
  EXPECT_TRUE(LockFile(path).ok());
}

TEST(FileLock, IsItsOwnersWhateverTheUmask) {
  TemporaryFolder folder;
  const std::string path = folder / "lock";
  {
    const ScopedUmask everything(0777);
    EXPECT_TRUE(LockFile(path).ok());
    EXPECT_EQ(ModeOf(path), 0600u);
  }
  if (geteuid() != 0) return;
  // Root may open it anyhow. As another user: one that was left without permissions.
  ASSERT_EQ(chmod(path.c_str(), 0), 0);
  ASSERT_EQ(chown(path.c_str(), 54321, 54321), 0);
  ASSERT_EQ(chown(folder.path().c_str(), 54321, 54321), 0);
  LinePipe answer;
  const pid_t owner = ForkChild([&] {
    if (setgid(54321) != 0 || setuid(54321) != 0) return;
    dprintf(answer.write_fd(), "%s\n", LockFile(path).status().ToString().c_str());
  });
  EXPECT_EQ(answer.ReadLine(), "OK");
  waitpid(owner, nullptr, 0);
}

TEST(FileLock, FileThatCannotBeMadeIsNamed) {
  const absl::StatusOr<UniqueFd> lock = LockFile("/nonexistent/lock");
  EXPECT_EQ(lock.status().code(), absl::StatusCode::kNotFound);
  EXPECT_NE(std::string(lock.status().message()).find("/nonexistent/lock"), std::string::npos);
}

}  // namespace
}  // namespace tony::os
