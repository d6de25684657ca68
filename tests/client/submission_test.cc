// A client that follows the real ApplicationMaster of a real job to its end, or leaves before it.
#include "client/submission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <functional>

#include "client/job_connection.h"
#include "os/file_lock.h"
#include "tests/client/staged_job.h"

namespace tony::client {
namespace {

using ::testing::HasSubstr;

// Calls a function at the first running task.
class Watcher : public ProgressPrinter {
 public:
  explicit Watcher(std::function<void()> when_running) : when_running_(std::move(when_running)) {}
  void OnEvent(const core::JobEvent& event) override {
    ++events;
    const auto* change = std::get_if<core::TaskChanged>(&event.body);
    if (change != nullptr && change->state == core::TaskState::kRunning) when_running_();
  }
  void Refresh() override { ++refreshes; }

  int events = 0;
  int refreshes = 0;

 private:
  const std::function<void()> when_running_;
};

class SubmissionTest : public StagedJobTest {
 protected:
  // Runs the job `command`; `when_running` is called on the loop.
  absl::StatusOr<core::Verdict> Run(const std::string& command,
                                    std::function<void(MasterProcess&)> when_running) {
    EXPECT_EQ(Stage({{"tony.worker.command", command}}), absl::OkStatus());
    auto master = MasterProcess::Start(job_folder_, /*detached=*/false, std::chrono::seconds(30));
    EXPECT_TRUE(master.ok()) << master.status();
    if (!master.ok()) return master.status();
    EventLoop loop;
    const auto client = ConnectToJob(job_folder_);
    EXPECT_TRUE(client.ok()) << client.status();
    Watcher watcher([&] { when_running(*master); });
    Submission submission(loop, *master, **client, watcher);
    auto verdict = submission.FollowToEnd();
    events_ = watcher.events;
    refreshes_ = watcher.refreshes;
    return verdict;
  }

  int events_ = 0;
  int refreshes_ = 0;
};

TEST_F(SubmissionTest, EndsWithTheVerdictWhenTheMasterIsGone) {
  const auto verdict = Run("exit 3", [](MasterProcess&) {});
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_EQ(core::ExitCode(*verdict), 1);
  EXPECT_FALSE(os::IsFileLocked(job_folder_.am_lock()));
  EXPECT_GT(events_, 5);
  EXPECT_GE(refreshes_, 2);
}

TEST_F(SubmissionTest, CtrlCStopsTheJob) {
  const auto verdict = Run("sleep 600", [](MasterProcess&) { ::raise(SIGINT); });
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_EQ(verdict->outcome, core::Outcome::kKilled);
  EXPECT_EQ(verdict->reason, core::Reason::kKilledByUser);
  EXPECT_THAT(verdict->sentence, HasSubstr("Ctrl-C"));
}

TEST_F(SubmissionTest, AThirdCtrlCLeavesWithoutTheVerdict) {
  const auto verdict = Run("trap '' TERM; sleep 600", [](MasterProcess&) {
    for (int i = 0; i < 3; ++i) ::raise(SIGINT);
  });
  EXPECT_EQ(verdict.status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(SubmissionTest, AMasterThatWasKilledLeavesNoVerdict) {
  const auto verdict = Run("sleep 600", [](MasterProcess& master) { master.Kill(); });
  EXPECT_EQ(verdict.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(verdict.status().message()), HasSubstr("without a verdict"));
}

}  // namespace
}  // namespace tony::client
