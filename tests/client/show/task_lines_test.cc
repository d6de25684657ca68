// The newest lines of tasks, out of logs that grow, are rotated, and hold what programs print.
#include "client/show/task_lines.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "core/record/observed_job.h"
#include "os/files/files.h"
#include "tests/client/sample_events.h"
#include "tests/logs/timed_log.h"
#include "tests/os/temporary_folder.h"

namespace tony::client {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class TaskLinesTest : public ::testing::Test {
 protected:
  TaskLinesTest() {
    for (const core::JobEvent& event : RunningJob().events()) view_.Apply(event);
    view_.job.log_folder = folder_.path();
  }

  void Print(const std::string& task, const std::string& text,
             const std::string& log = "stdout.log") {
    logs::AppendLog(absl::StrCat(folder_.path(), "/", task, "/attempt-1/", log), text);
  }
  /// "task: text" of each line.
  std::vector<std::string> Read() {
    std::vector<std::string> texts;
    for (const TaskLine& line : lines_.Read(view_)) {
      texts.push_back(absl::StrCat(line.task.ToString(), ": ", line.text));
    }
    return texts;
  }

  const os::TemporaryFolder folder_;
  core::JobView view_;
  TaskLines lines_;
};

TEST_F(TaskLinesTest, FollowsLogsThatGrow) {
  EXPECT_THAT(Read(), IsEmpty());
  Print("worker-1", "one\ntwo\n");
  Print("chief-0", "begin");
  EXPECT_THAT(Read(), ElementsAre("chief:0: begin", "worker:1: two"));
  Print("worker-1", "\n \n");
  EXPECT_THAT(Read(), ElementsAre("chief:0: begin", "worker:1: two"));
  Print("worker-1", "three", "stdout.log.00002");
  Print("worker-1", "", "stdout.log.00003");
  EXPECT_THAT(Read(), ElementsAre("chief:0: begin", "worker:1: three"));
}

TEST_F(TaskLinesTest, TheNewerStreamCountsAndItsTime) {
  Print("chief-0", "out\n");
  Print("chief-0", "err\n", "stderr.log");
  const std::filesystem::path log = folder_.path() + "/chief-0/attempt-1/stdout.log";
  const timespec times[2] = {{1'000'000'000, 0}, {1'000'000'000, 250'000'000}};
  ASSERT_EQ(utimensat(AT_FDCWD, log.c_str(), times, 0), 0);
  EXPECT_THAT(Read(), ElementsAre("chief:0: err"));
  std::filesystem::remove(folder_.path() + "/chief-0/attempt-1/stderr.log");
  const std::vector<TaskLine> lines = lines_.Read(view_);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].text, "out");
  EXPECT_EQ(lines[0].unix_millis, 1'000'000'000'250);
}

TEST_F(TaskLinesTest, OfAProgressBarTheLastStateCounts) {
  Print("chief-0", "epoch 1\n 10%|#   \r 50%|##  \r");
  EXPECT_THAT(Read(), ElementsAre("chief:0:  50%|##  "));
}

TEST_F(TaskLinesTest, TheTextIsHarmlessAndBounded) {
  Print("chief-0", "\x1b]0;owned\a\x1b[2Jred\tfox\x80\n");
  Print("worker-0", std::string(1 << 20, 'x'));
  const std::vector<TaskLine> lines = lines_.Read(view_);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].text, "red    fox\uFFFD");
  EXPECT_EQ(lines[1].text, std::string(4096, 'x'));
}

TEST_F(TaskLinesTest, NothingIsReadThroughALinkOrAPipe) {
  Print("worker-0", "secret\n");
  const std::string logs = folder_.path() + "/chief-0/attempt-1/";
  ASSERT_EQ(os::MakeFolders(logs), absl::OkStatus());
  std::filesystem::create_symlink(folder_.path() + "/worker-0/attempt-1/stdout.log",
                                  logs + "stdout.log");
  ASSERT_EQ(mkfifo((logs + "stderr.log").c_str(), 0600), 0);
  EXPECT_THAT(Read(), ElementsAre("worker:0: secret"));
}

TEST_F(TaskLinesTest, OfManyTasksTheFirstOfEachTypeCome) {
  SampleEvents events;
  events.Submit({{"worker", 100}, {"ps", 2}});
  for (int index = 0; index < 100; ++index)
    events.AddTask("worker", index, core::TaskState::kRunning);
  for (int index = 0; index < 2; ++index) events.AddTask("ps", index, core::TaskState::kRunning);
  core::JobView view;
  for (const core::JobEvent& event : events.events()) view.Apply(event);
  view.job.log_folder = folder_.path();
  view_ = view;
  for (const core::JobView::Task& task : view.tasks) Print(task.last.task.ToPath(), "x");
  const std::vector<std::string> lines = Read();
  ASSERT_EQ(lines.size(), TaskLines::kMostTasks);
  EXPECT_EQ(lines.front(), "worker:0: x");
  EXPECT_EQ(lines.back(), "ps:0: x");
}

TEST_F(TaskLinesTest, LogsOnOtherHostsAreNotLookedFor) {
  Print("chief-0", "here\n");
  view_.job.log_folder.clear();
  EXPECT_THAT(Read(), IsEmpty());
}

}  // namespace
}  // namespace tony::client
