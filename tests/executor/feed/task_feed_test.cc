// What an ApplicationMaster hears of an endpoint, and in which order.
#include "executor/feed/task_feed.h"

#include <gtest/gtest.h>

#include <vector>

#include "rpc/security/certificate_authority.h"
#include "tests/common/loop_driver.h"
#include "tests/feed/feed_peer.h"
#include "tests/os/temporary_folder.h"

namespace tony::executor {
namespace {

class TaskFeedTest : public ::testing::Test {
 protected:
  TaskFeedTest() {
    v1::Assignment assignment;
    assignment.mutable_task()->set_type("worker");
    assignment.mutable_feed()->set_token("secret");
    assignment.mutable_feed()->set_buffer_bytes(1 << 20);
    EXPECT_TRUE(feed_.Open(assignment, folder_.path(), "127.0.0.1:1").ok());
  }

  /// A program that wants no more of the feed, and knows that the endpoint has reported that.
  void Terminate(const std::string& feed) {
    feed::FeedPeer program(feed_.program_path());
    program.Send(feed::FrameType::kAttach, feed::kVersion, "{\"feed\":\"" + feed + "\"}");
    EXPECT_EQ(program.Next().header.type, feed::FrameType::kAttached);
    program.Send(feed::FrameType::kTerminate);
    EXPECT_EQ(program.Next().header.type, feed::FrameType::kEnded);
  }

  os::TemporaryFolder folder_;
  LoopDriver driver_;
  std::vector<v1::FeedReport> reports_;
  TaskFeed feed_{driver_.loop(),
                 rpc::CertificateAuthority::Create("job-1")
                     .value()
                     .Issue(rpc::ExecutorRole("job-1", "c1"))
                     .value(),
                 [this](const v1::ExecutorMessage& message) {
                   reports_.push_back(message.feed());
                   driver_.Changed();
                 }};
};

// The stream is open, but the ApplicationMaster has not heard yet what the endpoint holds.
TEST_F(TaskFeedTest, SendsAllThatItHoldsFirstOnEachStream) {
  for (const char* feed : {"train", "validation"}) {
    reports_.clear();
    feed_.OnNewStream();
    Terminate(feed);
    feed_.OnAttached();
    ASSERT_TRUE(driver_.Await([this] { return !reports_.empty(); }));
    EXPECT_TRUE(reports_[0].has_endpoint()) << reports_[0].ShortDebugString();
    EXPECT_EQ(
        reports_[0].endpoint().terminated(reports_[0].endpoint().terminated_size() - 1).feed(),
        feed);
  }
  reports_.clear();
  Terminate("third");
  ASSERT_TRUE(driver_.Await([this] { return !reports_.empty(); }));
  EXPECT_EQ(reports_[0].terminate().feed(), "third");
}

}  // namespace
}  // namespace tony::executor
