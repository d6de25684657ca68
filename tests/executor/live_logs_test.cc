// Tests that a reader of a running task's logs gets all of its program's output.
#include <gmock/gmock.h>

#include <map>
#include <mutex>

#include "rpc/services/job_client.h"
#include "tests/executor/executor_fixture.h"

namespace tony::executor {
namespace {

using ::testing::HasSubstr;

class LiveLogsTest : public ExecutorFixture {
 protected:
  /// Follows the standard output; what has come is Said().
  void Follow() {
    client_ = std::make_unique<rpc::JobClient>(server_->address(),
                                               *authority_.Issue(rpc::ClientRole(kJobId)));
    v1::LogWish wish;
    wish.set_container(container_);
    wish.set_standard_output(true);
    wish.set_follow(true);
    end_ = client_->tunnels().OpenLogs(
        wish, {[this](const v1::TunnelFrame& frame) { OnFrame(frame); }, [] {},
               [this](const absl::Status& status) {
                 const std::lock_guard lock(mutex_);
                 closed_ = status;
                 driver_.Changed();
               }});
    end_->Read();
  }
  void OnFrame(const v1::TunnelFrame& frame) {
    {
      const std::lock_guard lock(mutex_);
      if (frame.has_log() && !frame.log().times()) said_ += frame.log().data();
    }
    driver_.Changed();
    v1::TunnelFrame end;
    end.mutable_end();
    if (frame.has_end()) end_->Write(end);
    end_->Read();
  }
  std::string Said() {
    const std::lock_guard lock(mutex_);
    return said_;
  }
  std::optional<absl::Status> Closed() {
    const std::lock_guard lock(mutex_);
    return closed_;
  }

  std::mutex mutex_;
  std::string said_;
  std::optional<absl::Status> closed_;
  std::unique_ptr<rpc::JobClient> client_;
  std::unique_ptr<rpc::TunnelEnd> end_;  ///< last: its callbacks use the rest
};

TEST_F(LiveLogsTest, TheLastWordsComeBeforeTheExecutorLeaves) {
  v1::Assignment assignment =
      AssignmentOf("trap 'echo last words; exit' TERM; echo begins; while :; do sleep 0.02; done");
  assignment.clear_log_folder();  // the container's own
  RunTask(assignment);
  Follow();
  EXPECT_TRUE(driver_.Await([this] { return Said() == "begins\n"; }));
  SendShutdown();
  EXPECT_EQ(ExitCode(), 0);
  EXPECT_EQ(Said(), "begins\nlast words\n");
  EXPECT_TRUE(driver_.Await([this] { return Closed().has_value(); }));
  EXPECT_TRUE(Closed()->ok()) << *Closed();
}

TEST_F(LiveLogsTest, LogsInAFolderOfTheJobsAreNotForTunnels) {
  RunTask(AssignmentOf("sleep 100"));
  Follow();
  EXPECT_TRUE(driver_.Await([this] { return Closed().has_value(); }));
  EXPECT_TRUE(absl::IsUnimplemented(*Closed())) << *Closed();
  EXPECT_THAT(std::string(Closed()->message()), HasSubstr("lie in the job's folder"));
}

}  // namespace
}  // namespace tony::executor
