// Light workers that send what Horovod's send find each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "core/rendezvous/rendezvous_progress.h"
#include "rendezvous/local_store.h"
#include "rendezvous/rendezvous_server.h"
#include "tests/common/any_peer.h"
#include "tests/rendezvous/rendezvous_run.h"

namespace tony::rendezvous {
namespace {

std::vector<core::Slot> Plan(int hosts, int slots) {
  std::vector<core::HostSlots> each;
  for (int host = 0; host < hosts; ++host) each.push_back({"host-" + std::to_string(host), slots});
  const auto plan = core::PlanSlots(each, hosts * slots);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return *plan;
}

class RendezvousTest : public ::testing::Test {
 protected:
  void Start(const std::vector<core::Slot>& plan, RendezvousServer::Limits limits = {}) {
    store_ = std::make_unique<LocalStore>(driver_.loop(),
                                          core::StoreLimits::For(static_cast<int>(plan.size())));
    store_->Begin(plan);
    auto server = RendezvousServer::Start(driver_.loop(), *store_, 0, AnyPeer(), limits);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  std::function<RankRole(const core::Slot&)> ToServer() {
    return [port = server_->port()](const core::Slot&) { return RankRole{port}; };
  }

  /// All ranks come, and nothing is left of them.
  void Meet(const std::vector<core::Slot>& plan) {
    Start(plan);
    const RendezvousRun run = RunRendezvous(driver_, plan, {}, ToServer());
    for (size_t rank = 0; rank < plan.size(); ++rank) {
      EXPECT_TRUE(run.results[rank].ok()) << "rank " << rank << ": " << run.results[rank];
    }
    const RequestCounts expected = ExpectedRequests(plan);
    EXPECT_EQ(run.counts.puts, expected.puts);
    EXPECT_EQ(run.counts.deletes, expected.deletes);
    EXPECT_EQ(run.counts.failed, 0U);
    // A GET that was held is answered with the value; only names are asked for in vain, once.
    EXPECT_EQ(run.counts.gets, expected.gets);
    EXPECT_EQ(server_->counts().puts, expected.puts);
    EXPECT_EQ(server_->counts().removes, expected.deletes);
    EXPECT_EQ(server_->counts().found + server_->counts().missing, expected.gets);
    EXPECT_EQ(server_->counts().missing, run.counts.missing);
    EXPECT_EQ(server_->counts().refused, 0U);
    EXPECT_EQ(core::DescribeMissing(core::ProgressOf(store_->content()), {}).sentence, "");
    EXPECT_EQ(store_->content().keys(), 0U);
    RecordProperty("milliseconds", std::to_string(run.time.count() / 1000));
    RecordProperty("server_cpu_microseconds", std::to_string(run.server_cpu.count()));
  }

  LoopDriver driver_;
  std::unique_ptr<LocalStore> store_;
  std::unique_ptr<RendezvousServer> server_;
};

TEST(ExpectedRequests, AsMeasuredWithHorovod) {
  const RequestCounts counts = ExpectedRequests(Plan(1, 16));
  EXPECT_EQ(counts.gets, 2400U);
  EXPECT_EQ(counts.puts, 192U);
  EXPECT_EQ(counts.deletes, 96U);
}

TEST_F(RendezvousTest, OneRank) { Meet(Plan(1, 1)); }
TEST_F(RendezvousTest, TwoRanksOnOneHost) { Meet(Plan(1, 2)); }
TEST_F(RendezvousTest, TwoRanksOnTwoHosts) { Meet(Plan(2, 1)); }
TEST_F(RendezvousTest, FourRanksOnTwoHosts) { Meet(Plan(2, 2)); }
TEST_F(RendezvousTest, SixteenRanksOnOneHost) { Meet(Plan(1, 16)); }
TEST_F(RendezvousTest, SixtyFourRanksOnEightHosts) { Meet(Plan(8, 8)); }

// A job may shut Horovod down and initialize it again; and the next round may be of other hosts.
TEST_F(RendezvousTest, AgainAndAgain) {
  const std::vector<core::Slot> plan = Plan(2, 2);
  Start(plan);
  for (int time = 0; time < 3; ++time) {
    const RendezvousRun run = RunRendezvous(driver_, plan, {}, ToServer());
    for (const absl::Status& result : run.results) EXPECT_TRUE(result.ok()) << result;
  }
  const std::vector<core::Slot> next = Plan(3, 1);
  store_->Begin(next);
  const RendezvousRun run = RunRendezvous(driver_, next, {}, ToServer());
  for (const absl::Status& result : run.results) EXPECT_TRUE(result.ok()) << result;
  EXPECT_EQ(store_->content().keys(), 0U);
}

TEST_F(RendezvousTest, WithoutRoomForThoseWhoWaitTheyPoll) {
  const std::vector<core::Slot> plan = Plan(2, 4);
  Start(plan, {.waiting = 0});
  const RendezvousRun run = RunRendezvous(driver_, plan, {}, ToServer());
  for (const absl::Status& result : run.results) EXPECT_TRUE(result.ok()) << result;
  EXPECT_EQ(server_->counts().held, 0U);
  EXPECT_EQ(server_->counts().missing, run.counts.missing);
}

TEST_F(RendezvousTest, ARankThatNeverComes) {
  const std::vector<core::Slot> plan = Plan(2, 2);
  Start(plan, {.hold = std::chrono::milliseconds(20)});
  const RendezvousRun run =
      RunRendezvous(driver_, plan, {.timeout = std::chrono::seconds(0)}, [this](const auto& slot) {
        return RankRole{.port = server_->port(), .comes = slot.rank != 3};
      });
  for (size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(run.results[rank].code(), absl::StatusCode::kDeadlineExceeded) << run.results[rank];
  }
  const std::vector<std::string> tasks = {"chief:0", "worker:0", "worker:1", "worker:2"};
  EXPECT_EQ(core::DescribeMissing(core::ProgressOf(store_->content()), tasks).sentence,
            "1 of 4 ranks has not put its addresses into 'global': worker:2 (rank 3 on host-1) has "
            "put nothing");
}

}  // namespace
}  // namespace tony::rendezvous
