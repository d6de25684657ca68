// The verbs that wait for jobs, list some of them, remove them, or take several, on real job
// folders.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "tests/client/verbs/verb_fixture.h"

namespace tony::client {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// FailedJob() as it would have ended well, `after_millis` later.
std::vector<core::JobEvent> SucceededJob(int64_t after_millis = 1000) {
  SampleEvents job = RunningJob();
  job.Add(
      core::JobEnded{core::Verdict{core::Outcome::kSucceeded, core::Reason::kTasksSucceeded,
                                   "All 4 tracked tasks succeeded", std::nullopt, std::nullopt}},
      after_millis);
  return job.events();
}

TEST_F(VerbTest, WaitEndsAsTheFirstJobThatFailed) {
  WriteJob(local_.path(), "job-a", SucceededJob());
  WriteJob(local_.path(), "job-b", FailedJob().events());
  WriteJob(local_.path(), "job-c", RunningJob().events());
  EXPECT_EQ(Run({"wait", "job-a"}), kVerbDone) << err_;
  EXPECT_EQ(out_, "job-a  SUCCEEDED: All 4 tracked tasks succeeded\n");
  // The exit status is that of tony-submit: 1 the program failed, 3 no verdict.
  EXPECT_EQ(Run({"wait", "job-b", "job-a", "job-b"}), 1);
  EXPECT_EQ(out_,
            "job-a  SUCCEEDED: All 4 tracked tasks succeeded\n"
            "job-b  FAILED: worker:1 exited with code 3.\n");
  EXPECT_EQ(Run({"wait", "job-b", "job-c"}), 3);  // job-c was lost before job-b failed
  EXPECT_THAT(out_, StartsWith("job-c  LOST: its ApplicationMaster went away without a verdict"));
  EXPECT_EQ(Run({"wait", "--any", "job-b", "job-a"}), kVerbDone);
  EXPECT_EQ(out_, "job-a  SUCCEEDED: All 4 tracked tasks succeeded\n");
  EXPECT_EQ(RunJson({"wait", "job-a"})["id"], "job-a");
}

TEST_F(VerbTest, WaitKeepsExitStatus1ForTheProgram) {
  EXPECT_EQ(Run({"wait"}), kVerbBadUsage);
  EXPECT_THAT(err_, HasSubstr("tony wait JOB"));
  WriteJob(local_.path(), "job-a", SucceededJob());
  for (const char* verb : {"wait", "attach"}) {
    EXPECT_EQ(Run({verb, "nope"}), kVerbBadUsage);
    EXPECT_THAT(err_, HasSubstr("no job 'nope'; known jobs: job-a"));
  }
  EXPECT_EQ(Run({"wait", "job-a", "--timeout=soon"}), kVerbBadUsage);
  EXPECT_THAT(err_, HasSubstr("--timeout 'soon' is no duration; write --timeout=600"));
  EXPECT_EQ(Run({"wait", "job-a", "application_1700000000000_0001"}), kVerbBadUsage);
  EXPECT_THAT(err_, HasSubstr("may be on different backends"));
}

TEST_F(VerbTest, WaitIsGivenUpAtTheTimeOut) {
  const HeldLock lock(WriteJob(local_.path(), "job-a", RunningJob().events()));
  WriteJob(local_.path(), "job-b", FailedJob().events());
  EXPECT_EQ(Run({"wait", "job-a", "--timeout=0"}), kVerbJobGoesOn);
  EXPECT_EQ(err_,
            "tony: job job-a goes on after 0 s (--timeout); tony status job-a shows what it does, "
            "tony kill ends it\n");
  EXPECT_EQ(Run({"wait", "job-b", "job-a", "--timeout=10ms"}), kVerbJobGoesOn);
  EXPECT_EQ(out_, "job-b  FAILED: worker:1 exited with code 3.\n");
  EXPECT_EQ(Run({"wait", "job-b", "job-a", "--any"}), 1);
}

TEST_F(VerbTest, WaitSeesTheEndOfAJobAndOfItsApplicationMaster) {
  const storage::JobFolder folder = WriteJob(local_.path(), "job-a", RunningJob().events());
  auto lock = std::make_unique<HeldLock>(folder);
  std::thread end([&] {
    AppendEvents(folder, {SucceededJob().back()});
    lock.reset();
  });
  EXPECT_EQ(Run({"wait", "job-a"}), kVerbDone) << err_;
  end.join();
  EXPECT_EQ(out_, "job-a  SUCCEEDED: All 4 tracked tasks succeeded\n");
}

TEST_F(VerbTest, AttachShowsTheEndOfAJobThatIsOver) {
  WriteJob(local_.path(), "job-a", FailedJob().events());
  EXPECT_EQ(Run({"attach"}), 1);
  EXPECT_THAT(out_, StartsWith("FAILED (TASK_FAILED): worker:1 exited with code 3."));
  WriteJob(local_.path(), "job-b", RunningJob().events());
  EXPECT_EQ(Run({"attach", "job-b"}), 3);
  EXPECT_THAT(out_, StartsWith("LOST: its ApplicationMaster went away"));
}

}  // namespace
}  // namespace tony::client
