// Tests which task's error explains the failure of a job.
#include "history/first_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include "tests/client/job_folders.h"
#include "tests/logs/timed_log.h"
#include "tests/os/temporary_folder.h"

namespace tony::history {
namespace {

using client::SampleEvents;
using ::testing::ElementsAre;

/// A failed job whose guilty task is worker:1, with logs of two tasks.
class FirstErrorTest : public ::testing::Test {
 protected:
  std::string Log(const core::TaskId& task, const char* stream) const {
    return folder_.task_logs(task) + "/attempt-1/" + stream + ".log";
  }

  static core::JobView View(const std::vector<core::JobEvent>& events) {
    core::JobView view;
    for (const core::JobEvent& event : events) view.Apply(event);
    return view;
  }

  os::TemporaryFolder local_;
  std::vector<core::JobEvent> events_ = client::FailedJob().events();
  storage::JobFolder folder_ = client::WriteJob(local_.path(), "job-a", events_);
};

TEST_F(FirstErrorTest, TheGuiltyTasksErrorComesWithWhatOthersPrintedAfterIt) {
  const std::optional<Failure> failure = FindFailure(View(events_), folder_);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->sentence, "worker:1 exited with code 3.");
  EXPECT_EQ(failure->guilty, (core::TaskId{"worker", 1}));
  EXPECT_EQ(failure->attempt, 1);
  logs::AppendTimed(Log({"worker", 0}, "stderr"), "ConnectionError: earlier\n", 1000);
  logs::AppendTimed(Log({"worker", 0}, "stderr"), "ConnectionError: peer\n", 2000);
  logs::AppendTimed(Log({"worker", 1}, "stdout"), "fine\n", 1500);
  logs::AppendTimed(Log({"worker", 1}, "stderr"), "ValueError: mine\n", 1500);
  const FailureErrors errors = FindErrorsOf(*failure, folder_, {});
  ASSERT_TRUE(errors.own);
  EXPECT_EQ(errors.own->log.stream, "stderr");
  EXPECT_THAT(errors.own->error.lines, ElementsAre("ValueError: mine"));
  ASSERT_TRUE(errors.after);
  EXPECT_EQ(errors.after->log.task, "worker:0");
  EXPECT_EQ(errors.after->error.line_number, 2);
  EXPECT_THAT(errors.after->error.lines, ElementsAre("ConnectionError: peer"));
}

TEST_F(FirstErrorTest, ASilentGuiltyTaskIsNotReplacedByItsVictims) {
  Failure failure{"worker:1 was killed by signal 11 (SIGSEGV)", core::TaskId{"worker", 1}, 1, {}};
  failure.exit = core::TaskExit{core::TaskExit::Cause::kSignaled, 0, 11, "", {}, 5000};
  logs::AppendTimed(Log({"worker", 0}, "stderr"), "OSError: of another story\n", 1000);
  logs::AppendTimed(Log({"worker", 0}, "stderr"), "ConnectionError: peer\n", 4990);
  FailureErrors errors = FindErrorsOf(failure, folder_, {});
  EXPECT_FALSE(errors.own);
  EXPECT_FALSE(errors.printed);
  EXPECT_THAT(errors.after->error.lines, ElementsAre("ConnectionError: peer"));
  logs::AppendTimed(Log({"worker", 1}, "stdout"), "train error: 0.3\n", 900);
  errors = FindErrorsOf(failure, folder_, {});
  EXPECT_TRUE(errors.printed);
  ASSERT_TRUE(errors.own);
  EXPECT_TRUE(IsMention(*errors.own));
  failure.attempt = 2;
  EXPECT_FALSE(FindErrorsOf(failure, folder_, {}).own);
}

TEST_F(FirstErrorTest, AJobThatGoesOnHasTheFailureOfItsNewestRestart) {
  client::SampleEvents job = client::RunningJob();
  core::TaskChanged failed = job.Task("worker", 1, core::TaskState::kFailed);
  failed.exit = client::NastyExit();
  job.Add(failed);
  job.Add(core::EpochOpened{1, "worker:1 exited with code 3", core::TaskId{"worker", 1}, 1, 3});
  const storage::JobFolder folder = client::WriteJob(local_.path(), "job-b", job.events());
  const std::optional<Failure> failure = FindFailure(View(job.events()), folder);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->sentence, "worker:1 exited with code 3");
  EXPECT_EQ(failure->attempt, 1);
  ASSERT_TRUE(failure->exit);
  EXPECT_EQ(failure->exit->code, client::NastyExit().code);
}

TEST_F(FirstErrorTest, WithoutAGuiltyTaskTheErrorsOfAllTasksCount) {
  logs::AppendTimed(Log({"worker", 0}, "stderr"), "OSError: second\n", 3000);
  logs::AppendTimed(Log({"worker", 1}, "stderr"), "OSError: first\n", 2000);
  const FailureErrors errors = FindErrorsOf({"the job ran too long", {}, 0, {}}, folder_, {});
  EXPECT_THAT(errors.own->error.lines, ElementsAre("OSError: first"));
  EXPECT_FALSE(errors.after);
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

TEST_F(FirstErrorTest, AJobThatRunsOrSucceededHasNoFailure) {
  client::SampleEvents job = client::RunningJob();
  const storage::JobFolder folder = client::WriteJob(local_.path(), "job-b", job.events());
  EXPECT_FALSE(FindFailure(View(job.events()), folder));
  job.End(core::Outcome::kSucceeded, core::Reason::kTasksSucceeded, "All tracked tasks succeeded");
  EXPECT_FALSE(FindFailure(View(job.events()), folder));
}

/// The end of a worker, on a host whose clock is `ahead`.
core::TaskExit ExitAt(int64_t millis, int64_t ahead) {
  core::TaskExit exit{core::TaskExit::Cause::kSignaled, 0, 11, "", {}, millis};
  exit.host_millis = millis + ahead;
  return exit;
}

TEST_F(FirstErrorTest, ClocksOfHostsThatDifferArePutRight) {
  constexpr int64_t kHour = 3'600'000, kEnd = SampleEvents::kStart + 100'000;
  client::SampleEvents job = client::RunningJob();
  for (int worker = 0; worker < 2; ++worker) {
    core::TaskChanged failed = job.Task("worker", worker, core::TaskState::kFailed);
    failed.exit = ExitAt(kEnd, worker == 0 ? kHour : 0);
    job.Add(failed);
  }
  folder_ = client::WriteJob(local_.path(), "job-b", job.events());
  // The host of worker:0 is an hour ahead: what it dates after the failure came long before.
  logs::AppendTimed(Log({"worker", 0}, "stderr"), "OSError: earlier\n", kEnd + kHour - 60'000);
  logs::AppendTimed(Log({"worker", 0}, "stderr"), "OSError: because\n", kEnd + kHour + 10);
  Failure failure{"worker:1 was killed", core::TaskId{"worker", 1}, 1, ExitAt(kEnd, 0)};
  FailureErrors errors = FindErrorsOf(failure, folder_, {});
  ASSERT_TRUE(errors.after);
  EXPECT_THAT(errors.after->error.lines, ElementsAre("OSError: because"));
  logs::AppendTimed(Log({"worker", 1}, "stderr"), "ValueError: mine\n", kEnd - 10);
  errors = FindErrorsOf(failure, folder_, {});
  EXPECT_THAT(errors.own->error.lines, ElementsAre("ValueError: mine"));
  EXPECT_THAT(errors.after->error.lines, ElementsAre("OSError: because"));
  // The other way round: the guilty one's clock is ahead.
  failure = {"worker:0 was killed", core::TaskId{"worker", 0}, 1, ExitAt(kEnd, kHour)};
  errors = FindErrorsOf(failure, folder_, {});
  EXPECT_THAT(errors.own->error.lines, ElementsAre("OSError: earlier"));
  EXPECT_THAT(errors.after->error.lines, ElementsAre("ValueError: mine"));
  EXPECT_THAT(FindFirstError(folder_, {})->error.lines, ElementsAre("OSError: earlier"));
}

}  // namespace
}  // namespace tony::history
