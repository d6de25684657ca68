// Collected logs become a job's folder of logs.
#include "yarnlogs/collected_logs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "history/job_logs.h"
#include "logs/log_reader.h"
#include "rpc/convert/log_piece.h"
#include "tests/backend/yarn/yarn_configuration.h"
#include "tests/hadoop/logs/aggregated_samples.h"
#include "tests/os/temporary_folder.h"
#include "yarnlogs/log_origins.h"

namespace tony::yarnlogs {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

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

  /// All logs of `task`, or of all tasks.
  CollectedLogs Copy(const std::string& task = "") {
    const auto cluster = configuration_.Find();
    EXPECT_TRUE(cluster.ok()) << cluster.status();
    const std::vector<history::LogOrigin> origins = {
        {.task = "worker:0", .folder = "worker-0", .container = kSecond},
        {.task = "ps:0", .folder = "ps-0", .container = kThird}};
    return CopyCollectedLogs(*cluster, kApplication,
                             task.empty() ? origins : std::vector<history::LogOrigin>(),
                             Everything(task), mirror_);
  }

  static history::LogSelection Everything(const std::string& task) {
    history::LogSelection selection;
    selection.task = task;
    selection.executor = true;
    return selection;
  }

  /// "TASK/ATTEMPT STREAM: LINE" of each line of each log.
  std::vector<std::string> Lines() {
    std::vector<history::LogFile> logs = history::FindLogs(mirror_.folder(), Everything(""));
    for (const history::LogFile& log : history::FindLogs(mirror_.folder(), Everything("am")))
      logs.push_back(log);
    std::vector<std::string> lines;
    for (const history::LogFile& log : logs) {
      logs::LogReader reader(log.path);
      logs::LogLine line;
      while (reader.Finish(&line)) {
        lines.push_back(absl::StrCat(log.task, "/", log.attempt, " ", log.stream, ": ", line.text));
      }
    }
    return lines;
  }

  const os::TemporaryFolder remote_;
  const os::TemporaryFolder local_;
  history::LogMirror mirror_{storage::JobFolder(local_.path())};
  backend::YarnConfiguration configuration_;
};

TEST_F(CollectedLogsTest, AreLaidOutLikeAJobsOnThisMachine) {
  for (const char* const sample : hadoop::kSamples) {
    Put("node_1", hadoop::Sample(sample));
    const CollectedLogs collected = Copy();
    EXPECT_THAT(collected.containers, ElementsAre(kSecond, kThird));
    EXPECT_EQ(collected.missing, "");
    EXPECT_THAT(Copy("am").containers, ElementsAre(kFirst));
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
  EXPECT_EQ(Copy("am").missing, "");
  EXPECT_THAT(Lines(), ElementsAre("am/0 am: master", "am/0 am: second"));
}

// It did not live long enough to get a number from the job, so the next one has its.
TEST_F(CollectedLogsTest, AnApplicationMasterThatTheJobDoesNotKnowIsAnotherOne) {
  Put("node_1", absl::StrReplaceAll(hadoop::Sample(hadoop::kPlainTFile),
                                    {{"_01_000001", "_02_000001"}, {"master\n", "second\n"}}));
  Put("node_2", hadoop::Sample(hadoop::kPlainTFile));
  core::JobSubmitted submitted;
  submitted.master_log_url =
      "http://n:8042/node/containerlogs/container_1700000000000_0001_02_000001/bob";
  const history::LogSelection selection = Everything("am");
  core::JobEvent event;
  event.body = submitted;
  const std::optional<history::LogOrigin> known = LogOrigins(selection).Take(event);
  ASSERT_TRUE(known.has_value());
  const CollectedLogs collected =
      CopyCollectedLogs(configuration_.Find().value(), kApplication, {*known}, selection, mirror_);
  EXPECT_THAT(collected.containers, UnorderedElementsAre(rpc::MasterContainer(1), kFirst));
  EXPECT_THAT(Lines(), ElementsAre("am/0 am: master", "am/0 am: second"));
}

// As the rest of what has come through a tunnel.
TEST_F(CollectedLogsTest, WhatIsThereAlreadyIsGoneOnWith) {
  Put("node_1", hadoop::Sample(hadoop::kPlainTFile));
  const history::LogOrigin worker{"worker:0", "worker-0", kSecond, ""};
  const logs::ContainerLogFile file{logs::ContainerLogFile::Stream::kStdout, 1, 1, false};
  ASSERT_TRUE(mirror_.Take(worker, {file, 7, 0, "hello", ""}).ok());
  EXPECT_THAT(Copy().containers, ElementsAre(kSecond, kThird));
  EXPECT_EQ(mirror_.VersionOf(worker, file), 7);
  EXPECT_THAT(Lines(), Contains("worker:0/1 stdout: hello from 2"));
}

TEST_F(CollectedLogsTest, TheApplicationMasterAndStacksComeWithTheTasks) {
  Put("node_1", absl::StrReplaceAll(hadoop::Sample(hadoop::kPlainTFile),
                                    {{"attempt-1.stdout.log", "attempt-1.stacks.txt"}}));
  history::LogSelection selection = Everything("");
  selection.and_master = true;
  const auto copy = [&] {
    return CopyCollectedLogs(configuration_.Find().value(), kApplication,
                             {{.task = "worker:0", .folder = "worker-0", .container = kSecond}},
                             selection, mirror_);
  };
  const std::string stacks = local_ / "logs/worker-0/attempt-1/stacks.txt";
  EXPECT_THAT(copy().containers, UnorderedElementsAre(kFirst, kSecond));
  EXPECT_THAT(Lines(), ElementsAre("worker:0/0 executor: said by executor 2", "am/0 am: master"));
  EXPECT_FALSE(std::filesystem::exists(stacks));
  selection.stacks = true;
  copy();
  EXPECT_EQ(os::Contents(stacks), "hello from 2\nand again from 2\n");
}

TEST_F(CollectedLogsTest, TheListChangesWithTheFilesThatAreWhole) {
  const auto list = [&] { return ListCollectedLogs(configuration_.Find().value(), kApplication); };
  EXPECT_TRUE(absl::IsNotFound(list().status()));
  Put("node_1", "1");
  const std::string one = list().value();
  Put("node_2.tmp", "2");
  Put("node_1-checksum", "3");
  EXPECT_EQ(list().value(), one);
  Put("node_2", "2");
  const std::string two = list().value();
  EXPECT_NE(two, one);
  Put("node_2", "longer");
  EXPECT_NE(list().value(), two);
}

TEST_F(CollectedLogsTest, NothingIsReadAfterAStop) {
  Put("node_1", hadoop::Sample(hadoop::kPlainTFile));
  std::stop_source stop;
  stop.request_stop();
  const CollectedLogs collected = CopyCollectedLogs(configuration_.Find().value(), kApplication, {},
                                                    Everything("am"), mirror_, stop.get_token());
  EXPECT_TRUE(absl::IsCancelled(collected.broken_off)) << collected.broken_off;
  EXPECT_TRUE(collected.containers.empty());
}

TEST_F(CollectedLogsTest, WhatIsBeingWrittenIsNamed) {
  Put("node_1.tmp", hadoop::Sample(hadoop::kPlainTFile).substr(0, 100));
  const CollectedLogs collected = Copy();
  EXPECT_TRUE(collected.found);
  EXPECT_TRUE(collected.unfinished);
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
  EXPECT_THAT(collected.containers, ElementsAre(kSecond, kThird));
  EXPECT_THAT(collected.missing,
              AllOf(HasSubstr(NodeFile("node_1")), HasSubstr(NodeFile("node_2")),
                    Not(HasSubstr("checksum")), Not(HasSubstr(NodeFile("node_3")))));
}

// Its beginning may be of use, but somebody else may have it whole.
TEST_F(CollectedLogsTest, AContainerThatCannotBeReadToItsEndDoesNotCount) {
  // The sizes of stdout.log in the index: stored and original.
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

// As when they lie in another HDFS, which does not answer.
TEST_F(CollectedLogsTest, APlaceThatCannotBeLookedIntoIsPassedOver) {
  const os::TemporaryFolder broken;
  os::Put(broken / "bob", "no folder");
  configuration_.properties["yarn.log-aggregation.file-formats"] = "IFile,TFile";
  configuration_.properties["yarn.log-aggregation.IFile.remote-app-log-dir"] = broken.path();
  EXPECT_THAT(Copy().absent, HasSubstr(broken / "bob"));
  Put("node_1", hadoop::Sample(hadoop::kPlainTFile));
  EXPECT_THAT(Copy().containers, ElementsAre(kSecond, kThird));
}

TEST_F(CollectedLogsTest, NothingIsThere) {
  const CollectedLogs collected = Copy();
  EXPECT_FALSE(collected.found);
  EXPECT_TRUE(collected.containers.empty());
  EXPECT_EQ(collected.missing, "");
  EXPECT_THAT(collected.absent, HasSubstr("YARN has collected no logs"));
}

}  // namespace
}  // namespace tony::yarnlogs
