// Horovod's hosts among the containers of a job, and plans that do not fit.
#include "core/rendezvous/worker_hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/runtime/runtime_context.h"

namespace tony::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Endpoint At(const std::string& type, int index, const std::string& host,
            const std::string& devices = "") {
  Endpoint endpoint = EndpointAt(type, index, host, 1);
  endpoint.devices = devices;
  return endpoint;
}

std::vector<std::string> Names(const std::vector<WorkerHost>& hosts) {
  std::vector<std::string> names;
  for (const WorkerHost& host : hosts) names.push_back(host.name);
  return names;
}

RendezvousPlan PlanFor(const std::vector<WorkerHost>& hosts) {
  const auto slots = ParseWorkerList(FormatWorkerList(hosts));
  int processes = 0;
  for (const HostSlots& host : *slots) processes += host.slots;
  return {5000, true, PlanSlots(*slots, processes).value()};
}

TEST(WorkerHostsTest, ProcessesOfOneMachineCountTogether) {
  const ClusterSpec spec{{At("worker", 0, "a"), At("worker", 1, "b"), At("worker", 2, "a"),
                          At("driver", 0, "a"), At("ps", 0, "c")}};
  const std::vector<WorkerHost> hosts = WorkerHostsOf(spec);
  EXPECT_THAT(hosts, ElementsAre(WorkerHost{"a", {{"worker", 0}, {"worker", 2}}},
                                 WorkerHost{"b", {{"worker", 1}}}));
  EXPECT_EQ(FormatWorkerList(hosts), "a:2,b:1");
  EXPECT_THAT(TasksByRank(hosts), ElementsAre("worker:0", "worker:2", "worker:1"));
  EXPECT_EQ(TaskOfMember(MemberName({"worker", 3}, 2)), "worker:3");
}

TEST(WorkerHostsTest, TheChiefHasTheFirstRank) {
  const ClusterSpec spec{{At("worker", 0, "a"), At("worker", 1, "b"), At("chief", 0, "b")}};
  const std::vector<WorkerHost> hosts = WorkerHostsOf(spec);
  EXPECT_EQ(Names(hosts), (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(SlotOf(PlanFor(hosts), hosts, {"chief", 0})->rank, 0);
}

TEST(WorkerHostsTest, EachContainerWithDevicesOfItsOwnIsAHost) {
  const ClusterSpec spec{{At("worker", 0, "a", "0,1"), At("worker", 1, "a", "2,3"),
                          At("worker", 2, "b", "0,1"), At("worker", 3, "a", "0,1")}};
  const std::vector<WorkerHost> hosts = WorkerHostsOf(spec);
  EXPECT_EQ(Names(hosts), (std::vector<std::string>{"a-gpu0.1", "a-gpu2.3", "b-gpu0.1"}));
  const RendezvousPlan plan = PlanFor(hosts);
  EXPECT_EQ(SlotOf(plan, hosts, {"worker", 1})->local_rank, 0);
  EXPECT_EQ(SlotOf(plan, hosts, {"worker", 3})->local_rank, 1);
  EXPECT_EQ(SlotOf(plan, hosts, {"worker", 2})->rank, 3);
}

TEST(WorkerHostsTest, NamesFitIntoPathsAndAreTheirOwn) {
  Endpoint other = At("worker", 2, "a");
  other.host_id = "another machine";
  const ClusterSpec spec{{At("worker", 0, "fe80::1"), At("worker", 1, "a"), other}};
  EXPECT_EQ(Names(WorkerHostsOf(spec)), (std::vector<std::string>{"fe80--1", "a", "a-2"}));
}

TEST(WorkerHostsTest, ListsCanBeReadBack) {
  const auto hosts = ParseWorkerList("a:2,b.example.com:1");
  ASSERT_TRUE(hosts.ok()) << hosts.status();
  EXPECT_THAT(*hosts, ElementsAre(HostSlots{"a", 2}, HostSlots{"b.example.com", 1}));
  for (const char* const bad : {"", "a", "a:", "a:0", "a:x", ":1", "a:1,", "a:1:2"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseWorkerList(bad).status())) << bad;
  }
}

TEST(WorkerHostsTest, WhoHasNoRankHasNoPlace) {
  const std::vector<WorkerHost> hosts = WorkerHostsOf(ClusterSpec{{At("worker", 0, "a")}});
  EXPECT_TRUE(absl::IsNotFound(SlotOf(PlanFor(hosts), hosts, {"ps", 0}).status()));
}

class CheckPlanTest : public ::testing::Test {
 protected:
  std::string Complaint() const { return std::string(CheckPlan(plan_, hosts_).message()); }

  const std::vector<WorkerHost> hosts_ = WorkerHostsOf(
      ClusterSpec{{At("worker", 0, "a"), At("worker", 1, "a"), At("worker", 2, "b")}});
  RendezvousPlan plan_ = PlanFor(hosts_);
};

TEST_F(CheckPlanTest, WhatTonyPlansFits) { EXPECT_EQ(Complaint(), ""); }

TEST_F(CheckPlanTest, OtherRanksInAnotherOrderFit) {
  std::swap(plan_.slots[0].rank, plan_.slots[2].rank);
  EXPECT_EQ(Complaint(), "");
}

TEST_F(CheckPlanTest, RefusesAPortThatIsNone) {
  plan_.port = 0;
  EXPECT_THAT(Complaint(), HasSubstr("its server's port is 0"));
}

TEST_F(CheckPlanTest, RefusesTooFewRanks) {
  plan_.slots.pop_back();
  EXPECT_THAT(Complaint(), HasSubstr("the job has 3 processes, and it has places for 2"));
}

TEST_F(CheckPlanTest, RefusesRanksThatAreTwice) {
  plan_.slots[1].rank = 0;
  EXPECT_THAT(Complaint(), HasSubstr("not one of the ranks 0 to 2, each once"));
}

TEST_F(CheckPlanTest, RefusesPlacesThatAreTwice) {
  plan_.slots[1].local_rank = 0;
  EXPECT_THAT(Complaint(), HasSubstr("at a place that another rank has"));
}

TEST_F(CheckPlanTest, RefusesHostsAndLocalRanksThatAreNotThere) {
  plan_.slots[2].host = "c";
  EXPECT_THAT(Complaint(), HasSubstr("rank 2 (host c, local rank 0) is at a place that the job"));
  plan_.slots[2].host = "b";
  plan_.slots[2].local_rank = 1;
  EXPECT_THAT(Complaint(), HasSubstr("at a place that the job does not have"));
}

TEST_F(CheckPlanTest, RefusesSizesThatDoNotFit) {
  plan_.slots[1].size = 4;
  EXPECT_THAT(Complaint(), HasSubstr("rank 1 has size 4, of 3 processes"));
  plan_.slots[1].size = 3;
  plan_.slots[1].local_size = 1;
  EXPECT_THAT(Complaint(), HasSubstr("has local size 1"));
}

}  // namespace
}  // namespace tony::core
