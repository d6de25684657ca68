// A tunnel as the gate's link to the job's program: order, ends and errors.
#include "appmaster/page/program_tunnels.h"

#include <gtest/gtest.h>

#include "tests/common/loop_driver.h"
#include "tony/v1/application_master.pb.h"

namespace tony::appmaster {
namespace {

/// What the link asks of its tunnel; the test answers.
struct Tunnel {
  rpc::TunnelEnd::Callbacks callbacks;
  std::vector<std::string> written;
  int reads = 0;
  bool open = true;
};

class FakeEnd : public rpc::TunnelEnd {
 public:
  explicit FakeEnd(Tunnel& tunnel) : tunnel_(tunnel) {}
  ~FakeEnd() override { tunnel_.open = false; }
  void Read() override { ++tunnel_.reads; }
  void Write(v1::TunnelFrame frame) override { tunnel_.written.push_back(frame.data()); }

 private:
  Tunnel& tunnel_;
};

class ProgramTunnelsTest : public ::testing::Test {
 protected:
  void Read() {
    link_->Read([this](absl::StatusOr<std::string> bytes) {
      read_ = std::move(bytes);
      driver_.Changed();
    });
  }
  void Send(const std::string& bytes) {
    v1::TunnelFrame frame;
    frame.set_data(bytes);
    tunnel_.callbacks.on_frame(std::move(frame));
  }
  bool Await() {
    return driver_.Await([this] { return read_.has_value(); });
  }
  /// All that was posted to the loop so far has run.
  void Settle() {
    bool settled = false;
    driver_.loop().Post([&] { settled = true; });
    driver_.Changed();
    ASSERT_TRUE(driver_.Await([&] { return settled; }));
  }

  LoopDriver driver_;
  Tunnel tunnel_;
  std::optional<absl::StatusOr<std::string>> read_;
  std::unique_ptr<web::ProgramLink> link_ = MakeTunnelLink(driver_.loop(), [this](auto callbacks) {
    tunnel_.callbacks = std::move(callbacks);
    return std::make_unique<FakeEnd>(tunnel_);
  });
};

TEST_F(ProgramTunnelsTest, BytesWaitForTheTunnelAndAreToldWhenWritten) {
  bool written = false;
  link_->Write("request", [&] { written = true; });
  Settle();
  EXPECT_TRUE(tunnel_.written.empty());
  tunnel_.callbacks.on_written();  // the opening frame
  Settle();
  EXPECT_EQ(tunnel_.written, std::vector<std::string>{"request"});
  EXPECT_FALSE(written);
  tunnel_.callbacks.on_written();
  Settle();
  EXPECT_TRUE(written);
  link_->Write("more", [] {});
  EXPECT_EQ(tunnel_.written.back(), "more");
}

TEST_F(ProgramTunnelsTest, AFrameIsAskedForWhenBytesAre) {
  EXPECT_EQ(tunnel_.reads, 0);
  Read();
  EXPECT_EQ(tunnel_.reads, 1);
  Send("response");
  ASSERT_TRUE(Await());
  EXPECT_EQ(read_->value(), "response");
  EXPECT_EQ(tunnel_.reads, 1);
}

TEST_F(ProgramTunnelsTest, TheProgramsEnd) {
  Read();
  v1::TunnelFrame frame;
  frame.mutable_end();
  tunnel_.callbacks.on_frame(std::move(frame));
  ASSERT_TRUE(Await());
  EXPECT_EQ(read_->value(), "");
}

TEST_F(ProgramTunnelsTest, ATunnelThatIsRefusedSaysWhy) {
  Read();
  tunnel_.callbacks.on_closed(absl::NotFoundError("nobody listens on its port 6006"));
  ASSERT_TRUE(Await());
  EXPECT_EQ(read_->status().message(), "nobody listens on its port 6006");
}

TEST_F(ProgramTunnelsTest, AnEndThatTheProgramHasNotToldIsAnError) {
  tunnel_.callbacks.on_closed(absl::OkStatus());
  Settle();
  Read();
  ASSERT_TRUE(Await());
  EXPECT_TRUE(absl::IsUnavailable(read_->status())) << read_->status();
}

TEST_F(ProgramTunnelsTest, NothingComesAfterTheLink) {
  Read();
  Send("late");
  link_.reset();
  EXPECT_FALSE(tunnel_.open);
  Settle();
  EXPECT_FALSE(read_.has_value());
}

TEST(ProgramTunnels, WhereTheProgramIs) {
  EventLoop loop;
  std::optional<core::VisualizationReady> program;
  ProgramTunnels tunnels(
      loop, [] { return absl::InternalError("no certificate"); },
      [&]() -> const std::optional<core::VisualizationReady>& { return program; });
  EXPECT_TRUE(absl::IsFailedPrecondition(tunnels.Open().status()));
  EXPECT_EQ(tunnels.authority(), "");
  program = core::VisualizationReady{{"worker", 0}, "http://node1:6006"};
  EXPECT_EQ(tunnels.authority(), "node1:6006");
  EXPECT_EQ(tunnels.program(), "worker:0");
  EXPECT_TRUE(absl::IsInternal(tunnels.Open().status()));
}

}  // namespace
}  // namespace tony::appmaster
