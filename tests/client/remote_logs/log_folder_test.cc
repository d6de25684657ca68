// Temporary folders for logs: who removes them.
#include "client/remote_logs/log_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/client/job_folders.h"
#include "tests/logs/timed_log.h"
#include "tests/os/temporary_folder.h"

namespace tony::client {
namespace {

using ::testing::StartsWith;

TEST(LogFolder, GoesAwayWithItsOwner) {
  const TemporaryFolder parent;
  std::string path;
  {
    const auto folder = LogFolder::Make(parent.path());
    ASSERT_TRUE(folder.ok()) << folder.status();
    path = (*folder)->path();
    EXPECT_THAT(path, StartsWith(parent.path() + "/tony-logs-"));
    EXPECT_EQ(os::ModeOf(path), 0700);
    logs::AppendLog(path + "/logs/worker-0/executor.log", "x");
  }
  EXPECT_TRUE(std::filesystem::is_empty(parent.path()));
}

TEST(LogFolder, WhatAKilledProcessLeftGoesWithTheNext) {
  const TemporaryFolder parent;
  logs::AppendLog(parent.path() + "/tony-logs-g0nE12/in-use", "");
  logs::AppendLog(parent.path() + "/tony-logs-g0nE12/logs/am.log", "x");
  logs::AppendLog(parent.path() + "/tony-logs-of-somebody-else/file", "x");
  logs::AppendLog(parent.path() + "/other/in-use", "x");
  logs::AppendLog(parent.path() + "/tony-logs-of-my-thesis/in-use", "x");
  const auto living = LogFolder::Make(parent.path());
  ASSERT_TRUE(living.ok()) << living.status();
  const auto next = LogFolder::Make(parent.path());
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_FALSE(os::Exists(parent.path() + "/tony-logs-g0nE12"));
  EXPECT_TRUE(os::Exists((*living)->path()));
  EXPECT_TRUE(os::Exists(parent.path() + "/tony-logs-of-somebody-else/file"));
  EXPECT_TRUE(os::Exists(parent.path() + "/other/in-use"));
  EXPECT_TRUE(os::Exists(parent.path() + "/tony-logs-of-my-thesis/in-use"));
}

TEST(LogFolder, IsNotMadeWhereSomebodyCouldReplaceIt) {
  const TemporaryFolder parent;
  ASSERT_EQ(chmod(parent.path().c_str(), 0777), 0);
  const absl::Status refused = LogFolder::Make(parent.path()).status();
  EXPECT_TRUE(absl::IsPermissionDenied(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), StartsWith("copies of logs go to TMPDIR"));
  EXPECT_TRUE(std::filesystem::is_empty(parent.path()));
  ASSERT_EQ(chmod(parent.path().c_str(), 01777), 0);
  EXPECT_TRUE(LogFolder::Make(parent.path()).ok());
}

TEST(LogFolder, WithoutAPlaceForIt) {
  EXPECT_TRUE(absl::IsNotFound(LogFolder::Make("/nonexistent").status()));
}

}  // namespace
}  // namespace tony::client
