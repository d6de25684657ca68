// Collected logs become a job's folder of logs.
#include "client/collected_logs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/match.h"
#include "client/container_log.h"
#include "client/job_logs.h"
#include "client/log_reader.h"
#include "os/files.h"
#include "tests/backend/yarn/yarn_configuration.h"
#include "tests/hadoop/aggregated_samples.h"
#include "tests/os/temporary_folder.h"

namespace tony::client {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kApplication[] = "application_1700000000000_0001";
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
    os::Put(NodeFile("node_1"), hadoop::Sample(sample));
    const CollectedLogs collected = Copy();
    EXPECT_THAT(collected.containers,
                ElementsAre("container_1700000000000_0001_01_000001", kSecond, kThird));
    EXPECT_EQ(collected.missing, "");
    EXPECT_THAT(Lines(), ElementsAre("ps/0", "x"));
  }
}

}  // namespace
}  // namespace tony::client
