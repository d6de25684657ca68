// Leases of containers that the job's machine gives up.
#include "appmaster/feeds.h"

#include <gtest/gtest.h>

#include "common/fake_clock.h"
#include "rpc/tunnel/tunnel_relay.h"

namespace tony::appmaster {
namespace {

using std::chrono::seconds;

/// One worker, whose container is c0 and holds the lease of a partition.
class FeedsTest : public ::testing::Test {
 protected:
  FeedsTest() : machine_(OneWorker()) {
    Apply(core::input::Start{1, ""});
    core::Container container;
    container.id = "c0";
    container.type = "worker";
    container.host = container.host_id = "host";
    Apply(core::input::ContainerGranted{container});
    Apply(core::input::ExecutorAttached{"c0"});
    feeds_.Take("c0", core::feed_report::Endpoint{"/c0", 1});
    feeds_.Take("c0", core::feed_report::Ask{{1, {"train", 0, 0}}});
  }

  static core::JobDescription OneWorker() {
    core::JobDescription job;
    job.types.resize(1);
    job.types[0].name = "worker";
    job.types[0].instances = 1;
    job.retry_count = 1;
    return job;
  }
  void Apply(const core::JobInput& input) {
    (void)machine_.Apply(input, clock_.Now());
    feeds_.OnStep();
  }
  size_t Leased() const { return feeds_.Describe().feeds.at(0).leased; }
  const core::Task* Holder() const { return machine_.tasks().FindByContainer("c0"); }

  FakeClock clock_;
  EventLoop loop_;
  core::JobMachine machine_;
  rpc::TunnelRelay tunnels_{nullptr};
  rpc::ExecutorService executors_{"job-1", tunnels_, {[](const core::JobInput&) {}}};
  Feeds feeds_{{loop_, clock_, machine_, executors_, "token", "PEM"}, false};
};

// Its executor is silent, and nobody says that it is gone.
TEST_F(FeedsTest, AreFreeOnceTheContainerIsGivenUp) {
  bool killed = false;
  for (int second = 0; Holder() != nullptr; ++second) {
    ASSERT_LT(second, 600);
    ASSERT_EQ(Leased(), 1u);
    killed = killed || Holder()->killed();
    clock_.Advance(seconds(1));
    Apply(core::input::Tick{});
  }
  EXPECT_TRUE(killed);
  EXPECT_EQ(Leased(), 0u);
}

// The backend has lost the node, whose program may go on until its executor's lease is over.
TEST_F(FeedsTest, AreHeldWhileTheContainerMayStillRun) {
  Apply(core::input::ContainerEnded{"c0", core::ContainerEnd{true, "the node is lost", false}});
  ASSERT_NE(Holder(), nullptr);
  EXPECT_EQ(Leased(), 1u);
}

}  // namespace
}  // namespace tony::appmaster
