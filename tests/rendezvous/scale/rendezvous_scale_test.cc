// 128 ranks, and what they cost the server.
#include <gtest/gtest.h>

#include <string>

#include "rendezvous/local_store.h"
#include "rendezvous/rendezvous_server.h"
#include "tests/common/any_peer.h"
#include "tests/rendezvous/rendezvous_run.h"

namespace tony::rendezvous {
namespace {

/// The processor time of the server's thread per request, in an initialization of all ranks.
double CpuMicrosecondsPerRequest(int hosts, int slots) {
  std::vector<core::HostSlots> each;
  for (int host = 0; host < hosts; ++host) each.push_back({"host-" + std::to_string(host), slots});
  const auto plan = core::PlanSlots(each, hosts * slots);
  EXPECT_TRUE(plan.ok()) << plan.status();
  LoopDriver driver;
  LocalStore store(driver.loop(), core::StoreLimits::For(hosts * slots));
  store.Begin(*plan);
  const auto server = RendezvousServer::Start(driver.loop(), store, 0, AnyPeer(), {});
  EXPECT_TRUE(server.ok()) << server.status();
  const RendezvousRun run = RunRendezvous(
      driver, *plan, {}, [&](const core::Slot&) { return RankRole{(*server)->port()}; });
  for (const absl::Status& result : run.results) EXPECT_TRUE(result.ok()) << result;
  EXPECT_EQ(run.counts.failed, 0U);
  EXPECT_EQ(run.counts.gets, ExpectedRequests(*plan).gets);
  const std::string name = std::to_string(hosts * slots) + "_ranks_";
  ::testing::Test::RecordProperty(name + "milliseconds", std::to_string(run.time.count() / 1000));
  ::testing::Test::RecordProperty(name + "cpu_milliseconds",
                                  std::to_string(run.server_cpu.count() / 1000));
  const uint64_t requests = run.counts.gets + run.counts.puts + run.counts.deletes;
  return static_cast<double>(run.server_cpu.count()) / static_cast<double>(requests);
}

TEST(RendezvousScale, CpuPerRequestDoesNotGrow) {
  const double few = CpuMicrosecondsPerRequest(2, 8);
  const double many = CpuMicrosecondsPerRequest(16, 8);
  RecordProperty("microseconds_per_request_16_ranks", std::to_string(few));
  RecordProperty("microseconds_per_request_128_ranks", std::to_string(many));
  // An answer has 8 times the bytes, and a loaded machine measures unevenly; a server that looks
  // at all ranks for each request would take much longer still.
  EXPECT_LT(many, few * 4);
}

}  // namespace
}  // namespace tony::rendezvous
