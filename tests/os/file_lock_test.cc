// The lock of a file, held, asked about and let go.
#include "os/file_lock.h"

#include <gtest/gtest.h>

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

TEST(FileLock, FileThatCannotBeMadeIsNamed) {
  const absl::StatusOr<UniqueFd> lock = LockFile("/nonexistent/lock");
  EXPECT_EQ(lock.status().code(), absl::StatusCode::kNotFound);
  EXPECT_NE(std::string(lock.status().message()).find("/nonexistent/lock"), std::string::npos);
}

}  // namespace
}  // namespace tony::os
