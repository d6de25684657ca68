// Samples of real programs.
#include "executor/task/usage_sampler.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "os/network/sock_diag.h"
#include "tests/os/network/network_support.h"
#include "tests/os/process_support.h"

namespace tony::executor {
namespace {

/// Not thread safe.
class UsageSamplerTest : public testing::Test {
 protected:
  /// Starts a script whose standard input is not of use; it ends with the test.
  void Start(const std::string& script) {
    ASSERT_TRUE(keeper_->Spawn(os::BashRequest(script, output_)).ok());
    ASSERT_EQ(output_.ReadLine(), "ready");
  }

  os::LinePipe output_;
  const std::unique_ptr<os::Keeper> keeper_ =
      os::Keeper::Start(absl::StrCat("usage_sampler_test_", ::getpid())).value();
};

TEST_F(UsageSamplerTest, CountsDescriptorsMemoryAndTime) {
  Start("for i in {20..39}; do eval \"exec $i</dev/null\"; done; echo ready; kill -STOP $$");
  UsageSampler sampler(*keeper_);
  sampler.Reset("");
  const core::TaskUsage first = sampler.Sample({});
  EXPECT_EQ(first.processes, 1);
  EXPECT_GE(first.descriptors, 23);
  EXPECT_LT(first.descriptors, 40);
  EXPECT_GT(first.proportional_bytes, 100'000);
  EXPECT_LE(first.proportional_bytes, first.memory_bytes);
  EXPECT_GE(first.seconds, 0);
  EXPECT_GE(first.network.host_received_bytes, 0);
  EXPECT_EQ(first.gpu_utilization, -1);
  EXPECT_EQ(first.gpu_memory_bytes, -1);
  const core::TaskUsage second = sampler.Sample({});
  EXPECT_GT(second.seconds, first.seconds);
  // The dear ones are not measured again so soon; their values stay.
  EXPECT_EQ(second.proportional_bytes, first.proportional_bytes);
  EXPECT_EQ(second.descriptors, first.descriptors);
  EXPECT_EQ(second.processes, 1);
}

TEST_F(UsageSamplerTest, CountsTheProgramsConnectionsAlsoWhenTheyAreClosed) {
  if (!os::AskForTraffic({})) GTEST_SKIP() << "this kernel does not answer";
  const os::UniqueFd server = os::ListenSocket({}, 0);
  const std::string script =
      absl::StrCat("exec 5<>/dev/tcp/127.0.0.1/", os::PortOf(server),
                   "; head -c 50000 /dev/zero >&5; read -r line <&5; echo ready; read -r line <&5; "
                   "exec 5>&-; echo closed; kill -STOP $$");
  ASSERT_TRUE(keeper_->Spawn(os::BashRequest(script, output_)).ok());
  ASSERT_TRUE(os::WaitReadable(server.get()));
  const os::UniqueFd peer(::accept(server.get(), nullptr, nullptr));
  std::string received(50000, 0);
  ASSERT_EQ(::recv(peer.get(), received.data(), received.size(), MSG_WAITALL), 50000);
  ASSERT_EQ(::send(peer.get(), "abc\n", 4, 0), 4);
  ASSERT_EQ(output_.ReadLine(), "ready");

  UsageSampler sampler(*keeper_);
  sampler.Reset("");
  const core::TaskUsage open = sampler.Sample({});
  EXPECT_EQ(open.network.sent_bytes, 50000);
  EXPECT_EQ(open.network.received_bytes, 4);

  ASSERT_EQ(::send(peer.get(), "\n", 1, 0), 1);
  ASSERT_EQ(output_.ReadLine(), "closed");
  // Connections are looked at again when it costs little enough: a look that took 20 ms, as one may
  // on a busy machine, is the last one for 20 s.
  const SystemClock clock;
  const TimePoint deadline = clock.Now() + 6 * std::chrono::milliseconds(os::kPatienceMillis);
  core::TaskUsage closed = open;
  while (closed.descriptors == open.descriptors && clock.Now() < deadline) {
    closed = sampler.Sample({});
  }
  EXPECT_LT(closed.descriptors, open.descriptors);
  EXPECT_EQ(closed.network.sent_bytes, 50000);
  EXPECT_EQ(closed.network.received_bytes, 4);
}

TEST_F(UsageSamplerTest, AddsUpTheGpusThatAnswer) {
  UsageSampler sampler(*keeper_);
  core::GpuUsage busy, idle, lost;
  busy.utilization = 90;
  busy.memory_bytes = 5;
  idle.index = 1;
  idle.utilization = 10;
  idle.memory_bytes = 7;
  lost.index = 2;
  const core::TaskUsage usage = sampler.Sample({busy, idle, lost});
  EXPECT_EQ(usage.gpu_utilization, 50);
  EXPECT_EQ(usage.gpu_memory_bytes, 12);
  EXPECT_EQ(usage.gpus.size(), 3u);
  EXPECT_EQ(sampler.Sample({lost}).gpu_utilization, -1);
}

TEST_F(UsageSamplerTest, ANewRunBeginsAnew) {
  UsageSampler sampler(*keeper_);
  Start("x=$(head -c 20000000 /dev/zero | tr '\\0' y); echo ready; kill -STOP $$");
  sampler.Reset("");
  const core::TaskUsage first = sampler.Sample({});
  EXPECT_GT(first.max_memory_bytes, 20'000'000);
  ASSERT_TRUE(keeper_->Kill(std::chrono::seconds(0)).ok());
  ASSERT_TRUE(os::WaitFor<os::KeeperStarted>(*keeper_));
  ASSERT_TRUE(os::WaitFor<os::KeeperExited>(*keeper_));
  ASSERT_TRUE(os::WaitFor<os::KeeperTreeGone>(*keeper_));
  const core::TaskUsage gone = sampler.Sample({});
  EXPECT_EQ(gone.processes, 0);
  EXPECT_EQ(gone.max_memory_bytes, first.max_memory_bytes);
  sampler.Reset("");
  const core::TaskUsage next = sampler.Sample({});
  EXPECT_EQ(next.max_memory_bytes, 0);
  EXPECT_EQ(next.proportional_bytes, 0);
  EXPECT_FALSE(sampler.AtEnd(std::nullopt));
}

}  // namespace
}  // namespace tony::executor
