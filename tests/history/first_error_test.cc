// Tests which task's error explains the failure of a job.
#include "history/first_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include "tests/client/job_folders.h"
#include "tests/logs/timed_log.h"
#include "tests/os/temporary_folder.h"

namespace tony::history {
namespace {

using ::testing::ElementsAre;

/// A failed job whose guilty task is worker:1, with logs of two tasks.
class FirstErrorTest : public ::testing::Test {
 protected:
  std::string Log(const core::TaskId& task, const char* stream) const {
    return folder_.task_logs(task) + "/attempt-1/" + stream + ".log";
  }

  os::TemporaryFolder local_;
  std::vector<core::JobEvent> events_ = client::FailedJob().events();
  storage::JobFolder folder_ = client::WriteJob(local_.path(), "job-a", events_);
};

TEST_F(FirstErrorTest, TheGuiltyTasksErrorWinsOverEarlierOnesOfItsVictims) {
  const std::optional<GuiltyRun> guilty = FindGuiltyRun(folder_);
  ASSERT_TRUE(guilty);
  const core::TaskId victim{"worker", guilty->task.index == 0 ? 1 : 0};
  logs::AppendTimed(Log(victim, "stderr"), "ConnectionError: peer\n", 1000);
  std::optional<FoundError> found = FindFirstErrorOfJob(folder_, {});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->log.task, victim.ToString());  // the guilty one has printed nothing
  logs::AppendTimed(Log(guilty->task, "stdout"), "fine\n", 2000);
  logs::AppendTimed(Log(guilty->task, "stderr"), "ValueError: mine\n", 2000);
  found = FindFirstErrorOfJob(folder_, {});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->log.task, guilty->task.ToString());
  EXPECT_EQ(found->log.stream, "stderr");
  EXPECT_THAT(found->error.lines, ElementsAre("ValueError: mine"));
}

TEST_F(FirstErrorTest, AmongAllTasksTheEarliestErrorWins) {
  logs::AppendTimed(Log({"worker", 0}, "stderr"), "ERROR: a mention\n", 100);
  logs::AppendTimed(Log({"worker", 0}, "stderr"), "OSError: second\n", 3000);
  logs::AppendTimed(Log({"worker", 1}, "stderr"), "OSError: first\n", 2000);
  EXPECT_THAT(FindFirstError(folder_, {})->error.lines, ElementsAre("OSError: first"));
  LogSelection one;
  one.task = "worker:0";
  EXPECT_THAT(FindFirstError(folder_, one)->error.lines, ElementsAre("OSError: second"));
  one.attempt = 2;
  EXPECT_FALSE(FindFirstError(folder_, one));
}

TEST_F(FirstErrorTest, NobodyIsGuiltyOfAJobThatRuns) {
  EXPECT_FALSE(
      FindGuiltyRun(client::WriteJob(local_.path(), "job-b", client::RunningJob().events())));
}

}  // namespace
}  // namespace tony::history
