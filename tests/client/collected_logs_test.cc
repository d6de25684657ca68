// Collected logs become a job's folder of logs.
#include "client/collected_logs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/container_log.h"
#include "client/job_logs.h"
#include "client/log_reader.h"
#include "tests/backend/yarn/yarn_configuration.h"
#include "tests/hadoop/aggregated_samples.h"
#include "tests/os/temporary_folder.h"

namespace tony::client {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kApplication[] = "application_1700000000000_0001";
constexpr char kFirst[] = "container_1700000000000_0001_01_000001";
constexpr char kSecond[] = "container_1700000000000_0001_01_000002";
constexpr char kThird[] = "container_1700000000000_0001_01_000003";

class CollectedLogsTest : public testing::Test {
 protected:
  CollectedLogsTest() {
    configuration_.properties["yarn.nodemanager.remote-app-log-dir"] = remote_.path();
  }

  std::string NodeFile(const std::string& node) const {
    return remote_ / absl::StrCat("bob/bucket-logs-tfile/0001/", kApplication, "/", node);
  }

  void Put(const std::string& node, const std::string& bytes) const {
    os::Put(NodeFile(node), bytes);
  }

  CollectedLogs Copy() {
    const auto cluster = configuration_.Find();
    EXPECT_TRUE(cluster.ok()) << cluster.status();
    return CopyCollectedLogs(*cluster, kApplication, {{kSecond, "worker-0"}, {kThird, "ps-0"}},
                             folder_);
  }

  /// "TASK/ATTEMPT STREAM: LINE" of each line of each log.
  std::vector<std::string> Lines() {
    LogSelection selection;
    selection.executor = true;
    std::vector<LogFile> logs = FindLogs(folder_, selection);
    selection.task = "am";
    for (const LogFile& log : FindLogs(folder_, selection)) logs.push_back(log);
    std::vector<std::string> lines;
    for (const LogFile& log : logs) {
      LogReader reader(log.path);
      LogLine line;
      while (reader.Finish(&line)) {
        lines.push_back(absl::StrCat(log.task, "/", log.attempt, " ", log.stream, ": ", line.text));
      }
    }
    return lines;
  }

  const os::TemporaryFolder remote_;
  const os::TemporaryFolder local_;
  const backend::JobFolder folder_{local_.path()};
  backend::YarnConfiguration configuration_;
};

TEST_F(CollectedLogsTest, AreLaidOutLikeAJobsOnThisMachine) {
  for (const char* const sample : hadoop::kSamples) {
    Put("node_1", hadoop::Sample(sample));
    const CollectedLogs collected = Copy();
    EXPECT_THAT(collected.containers, ElementsAre(kFirst, kSecond, kThird));
    EXPECT_EQ(collected.missing, "");
    EXPECT_THAT(
        Lines(),
        ElementsAre("ps:0/0 executor: said by executor 3", "ps:0/1 stdout: hello from 3",
                    "ps:0/1 stdout: and again from 3", "worker:0/0 executor: said by executor 2",
                    "worker:0/1 stdout: hello from 2", "worker:0/1 stdout: and again from 2",
                    "am/0 am: master"));
  }
}

TEST_F(CollectedLogsTest, ApplicationMastersFollowEachOther) {
  Put("node_1", absl::StrReplaceAll(hadoop::Sample(hadoop::kPlainTFile),
                                    {{"_01_000001", "_02_000001"}, {"master\n", "second\n"}}));
  Put("node_2", hadoop::Sample(hadoop::kPlainTFile));
  EXPECT_EQ(Copy().missing, "");
  const std::vector<std::string> lines = Lines();
  ASSERT_GE(lines.size(), 2U);
  EXPECT_EQ(lines[lines.size() - 2], "am/0 am: master");
  EXPECT_EQ(lines.back(), "am/0 am: second");
}

TEST_F(CollectedLogsTest, WhatIsBeingWrittenIsNamed) {
  Put("node_1.tmp", hadoop::Sample(hadoop::kPlainTFile).substr(0, 100));
  const CollectedLogs collected = Copy();
  EXPECT_TRUE(collected.containers.empty());
  EXPECT_EQ(collected.missing, "");
  EXPECT_THAT(collected.absent,
              AllOf(HasSubstr("logs of application_1700000000000_0001 has not ended on node_1 yet"),
                    HasSubstr("node_1.tmp")));
}

TEST_F(CollectedLogsTest, OtherFilesAreReadWhenOneCannotBe) {
  std::string lzo = hadoop::Sample(hadoop::kPlainTFile);
  Put("node_1", absl::StrReplaceAll(lzo, {{"\4none", "\3lzo"}}));
  Put("node_2", hadoop::Sample(hadoop::kPlainTFile).substr(0, 100));
  Put("node_2-checksum", "");
  Put("node_3", hadoop::Sample(hadoop::kPlainTFile));
  const CollectedLogs collected = Copy();
  EXPECT_THAT(collected.containers, ElementsAre(kFirst, kSecond, kThird));
  EXPECT_THAT(collected.missing,
              AllOf(HasSubstr(NodeFile("node_1")), HasSubstr(NodeFile("node_2")),
                    Not(HasSubstr("checksum")), Not(HasSubstr(NodeFile("node_3")))));
}

// Its beginning may be of use, but somebody else may have it whole.
TEST_F(CollectedLogsTest, AContainerThatCannotBeReadToItsEndDoesNotCount) {
  // What the index says of stdout.log: its size as it is stored, and as it was.
  const std::string stored("\0\0\0\0\0\0\0\x1e", 8);
  const std::string longer("\0\0\0\0\0\0\0\x1f", 8);
  Put("node_1", absl::StrReplaceAll(hadoop::Sample(hadoop::kPlainIndexedFile),
                                    {{stored + stored, stored + longer}}));
  const CollectedLogs collected = Copy();
  EXPECT_THAT(collected.missing, HasSubstr("ends 1 bytes too early"));
  const bool of_second = absl::StrContains(collected.missing, kSecond);
  EXPECT_NE(of_second, absl::StrContains(collected.missing, kThird));
  EXPECT_FALSE(collected.containers.contains(of_second ? kSecond : kThird));
}

TEST_F(CollectedLogsTest, NothingIsThere) {
  const CollectedLogs collected = Copy();
  EXPECT_TRUE(collected.containers.empty());
  EXPECT_EQ(collected.missing, "");
  EXPECT_THAT(collected.absent, HasSubstr("YARN has collected no logs"));
}

TEST(ContainerLogTest, NamesOfTasksLogs) {
  EXPECT_EQ(TaskLogName("w-0", "attempt-2.stdout.log"), "w-0/attempt-2/stdout.log");
  EXPECT_EQ(TaskLogName("w-0", "attempt-2.stderr.times.00003"), "w-0/attempt-2/stderr.times.00003");
  EXPECT_EQ(TaskLogName("w-0", "executor.log.00002"), "w-0/executor.log.00002");
  for (const char* const other : {"prelaunch.out", "attempt-1", "attempt-1.", "attempt-1..",
                                  "attempt-1.stdout./../x", "executor.logs", "amstderr.log", ""}) {
    EXPECT_EQ(TaskLogName("w-0", other), std::nullopt) << other;
  }
}

TEST(ContainerLogTest, NamesOfMastersLogs) {
  EXPECT_EQ(MasterLogName("amstderr.log"), "am.log");
  EXPECT_EQ(MasterLogName("amstderr.log.00002"), "am.log.00002");
  for (const char* const other :
       {"stderr.log", "executor.log", "amstderr.log./x", "amstderr.logs"}) {
    EXPECT_EQ(MasterLogName(other), std::nullopt) << other;
  }
}

}  // namespace
}  // namespace tony::client
