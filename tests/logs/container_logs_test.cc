// Names of log files in a container's folder, and what is none.
#include "logs/container_logs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/logs/timed_log.h"
#include "tests/os/temporary_folder.h"

namespace tony::logs {
namespace {

using Stream = ContainerLogFile::Stream;

TEST(ContainerLogs, NamesAreTakenApartAsTheyArePutTogether) {
  const std::pair<const char*, ContainerLogFile> names[] = {
      {"attempt-1.stdout.log", {Stream::kStdout, 1, 1, false}},
      {"attempt-12.stderr.log", {Stream::kStderr, 12, 1, false}},
      {"attempt-2.stdout.log.00003", {Stream::kStdout, 2, 3, false}},
      {"attempt-2.stdout.times", {Stream::kStdout, 2, 1, true}},
      {"attempt-2.stderr.times.00010", {Stream::kStderr, 2, 10, true}},
      {"executor.log", {Stream::kExecutor, 0, 1, false}},
      {"executor.log.00002", {Stream::kExecutor, 0, 2, false}},
      {"amstderr.log", {Stream::kMaster, 0, 1, false}},
      {"attempt-3.stacks.txt", {Stream::kStacks, 3, 1, false}},
  };
  for (const auto& [name, file] : names) {
    EXPECT_EQ(ParseContainerLog(name), file) << name;
    EXPECT_EQ(ContainerLogName(file), name);
    EXPECT_TRUE(IsContainerLog(file)) << name;
  }
}

TEST(ContainerLogs, OtherNamesAreNone) {
  for (const char* name :
       {"", "stdout.log", "attempt-.stdout.log", "attempt-0.stdout.log", "attempt--1.stdout.log",
        "attempt-1.stdin.log", "attempt-1.stdout.log.00001", "attempt-01.stdout.log",
        "attempt-1.x/../stdout.log", "../attempt-1.stdout.log", "attempt-1/stdout.log",
        "attempt-1.stdout.log.999999", "executor.times", "amstderr.times", "prelaunch.err",
        "syslog", "other.log", "attempt-9999999999.stdout.log"}) {
    EXPECT_FALSE(ParseContainerLog(name)) << name;
  }
}

TEST(ContainerLogs, StacksHaveOneFileEachAttempt) {
  for (const char* name : {"stacks.txt", "attempt-.stacks.txt", "attempt-0.stacks.txt",
                           "attempt-01.stacks.txt", "attempt-1.stacks.txt.00002",
                           "attempt-1.x.stacks.txt", "attempt-1/../attempt-2.stacks.txt"}) {
    EXPECT_FALSE(ParseContainerLog(name)) << name;
  }
  EXPECT_FALSE(IsContainerLog({Stream::kStacks, 1, 2, false}));
  EXPECT_FALSE(IsContainerLog({Stream::kStacks, 0, 1, false}));
  EXPECT_FALSE(IsContainerLog({Stream::kStacks, 1, 1, true}));
}

TEST(ContainerLogs, NumbersThatNoFileHas) {
  EXPECT_FALSE(IsContainerLog({Stream::kStdout, 0, 1, false}));
  EXPECT_FALSE(IsContainerLog({Stream::kStdout, 1, 0, false}));
  EXPECT_FALSE(IsContainerLog({Stream::kStdout, 1, 1 << 30, false}));
  EXPECT_FALSE(IsContainerLog({Stream::kExecutor, 1, 1, false}));
  EXPECT_FALSE(IsContainerLog({Stream::kMaster, 0, 1, true}));
}

TEST(ContainerLogs, AreFoundInTheOrderOfAttempts) {
  const os::TemporaryFolder folder;
  for (const char* name : {"attempt-10.stdout.log", "attempt-2.stderr.log", "attempt-2.stdout.log",
                           "attempt-2.stdout.log.00002", "attempt-3.stdout.times", "executor.log",
                           "prelaunch.err", "attempt-2.stacks.txt"}) {
    AppendLog(folder.path() + "/" + name, "x\n");
  }
  std::vector<std::string> names;
  for (const ContainerLogFile& log : FindContainerLogs(folder.path())) {
    names.push_back(ContainerLogName(log));
  }
  EXPECT_THAT(names, ::testing::ElementsAre("executor.log", "attempt-2.stdout.log",
                                            "attempt-2.stderr.log", "attempt-10.stdout.log"));
  EXPECT_TRUE(FindContainerLogs(folder.path() + "/none").empty());
}

}  // namespace
}  // namespace tony::logs
