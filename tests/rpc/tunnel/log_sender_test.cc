// Sending of logs to a reader that does not behave.
#include "rpc/tunnel/log_sender.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <vector>

#include "tests/common/loop_driver.h"
#include "tests/os/temporary_folder.h"
#include "tony/v1/application_master.pb.h"

namespace tony::rpc {
namespace {

/// Takes everything at once, and never closes the stream. Not thread safe.
class EndlessTunnel : public TunnelEnd {
 public:
  EndlessTunnel(Callbacks callbacks, std::vector<v1::TunnelFrame>& taken)
      : callbacks_(std::move(callbacks)), taken_(taken) {
    callbacks_.on_written();
  }
  void Read() override {}
  void Write(v1::TunnelFrame frame) override {
    taken_.push_back(std::move(frame));
    callbacks_.on_written();
  }

 private:
  const Callbacks callbacks_;
  std::vector<v1::TunnelFrame>& taken_;
};

TEST(LogSenderTest, AReaderThatHasAllAndDoesNotGoIsLeft) {
  const os::TemporaryFolder folder;
  os::Put(folder / "executor.log", "all of it");
  LoopDriver driver;
  auto feed = logs::LogFeed::Open(
      folder.path(), [](const logs::ContainerLogFile&) { return true; }, /*follow=*/false);
  ASSERT_TRUE(feed.ok()) << feed.status();
  std::vector<v1::TunnelFrame> taken;
  std::optional<absl::Status> done;
  const LogSender sender(
      driver.loop(), *std::move(feed), /*follow=*/false,
      [&](TunnelEnd::Callbacks callbacks) {
        return std::make_unique<EndlessTunnel>(std::move(callbacks), taken);
      },
      [&](const absl::Status& status) {
        done = status;
        driver.Changed();
      },
      std::chrono::milliseconds(20));
  ASSERT_TRUE(driver.Await([&] { return done.has_value(); }));
  EXPECT_TRUE(absl::IsDeadlineExceeded(*done)) << *done;
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_EQ(taken[0].log().data(), "all of it");
  EXPECT_TRUE(taken[1].has_end());
}

}  // namespace
}  // namespace tony::rpc
