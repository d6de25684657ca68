// Addresses, TonY's JSON form, and places among the processes of one host.
#include "core/model/cluster_spec.h"

#include <gtest/gtest.h>

namespace tony::core {
namespace {

Endpoint At(const std::string& type, int index, const std::string& host, int port,
            const std::string& devices = "") {
  Endpoint endpoint;
  endpoint.task = {type, index};
  endpoint.host = host;
  endpoint.port = port;
  endpoint.host_id = "boot-of-" + host;
  endpoint.devices = devices;
  return endpoint;
}

void ExpectLocalRank(const ClusterSpec& spec, const TaskId& task, int rank, int size) {
  const LocalRank local = LocalRankOf(spec, task);
  EXPECT_EQ(local.rank, rank) << task.ToString();
  EXPECT_EQ(local.size, size) << task.ToString();
}

TEST(ClusterSpecTest, AnAddressOfSixthVersionStandsInBrackets) {
  EXPECT_EQ(At("worker", 0, "node1.example", 2222).Address(), "node1.example:2222");
  EXPECT_EQ(At("worker", 0, "fe80::1", 2222).Address(), "[fe80::1]:2222");
}

TEST(ClusterSpecTest, JsonKeepsTheOrderOfTypesAndIndices) {
  const ClusterSpec spec{{At("worker", 0, "a", 1), At("worker", 1, "b", 2), At("ps", 0, "a", 3)}};
  EXPECT_EQ(spec.ToJson(), R"({"worker":["a:1","b:2"],"ps":["a:3"]})");
}

TEST(ClusterSpecTest, JsonLeavesOutSidecarsAndWhatItIsToldTo) {
  ClusterSpec spec{
      {At("chief", 0, "a", 1), At("evaluator", 0, "a", 2), At("tensorboard", 0, "a", 3)}};
  spec.endpoints[2].sidecar = true;
  EXPECT_EQ(spec.ToJson(), R"({"chief":["a:1"],"evaluator":["a:2"]})");
  EXPECT_EQ(spec.ToJson({"evaluator"}), R"({"chief":["a:1"]})");
  EXPECT_EQ(spec.ToJson({"evaluator", "chief"}), "{}");
  EXPECT_EQ(ClusterSpec().ToJson(), "{}");
}

TEST(ClusterSpecTest, FindsByTask) {
  const ClusterSpec spec{{At("worker", 0, "a", 1), At("worker", 1, "b", 2)}};
  ASSERT_NE(spec.Find({"worker", 1}), nullptr);
  EXPECT_EQ(spec.Find({"worker", 1})->port, 2);
  EXPECT_EQ(spec.Find({"worker", 2}), nullptr);
  EXPECT_EQ(spec.Find({"ps", 0}), nullptr);
}

TEST(LocalRankTest, ProcessesWithoutDevicesOnOneHostAreCounted) {
  const ClusterSpec spec{{At("worker", 0, "a", 1), At("worker", 1, "b", 2), At("worker", 2, "a", 3),
                          At("worker", 3, "a", 4), At("ps", 0, "a", 5)}};
  ExpectLocalRank(spec, {"worker", 0}, 0, 3);
  ExpectLocalRank(spec, {"worker", 2}, 1, 3);
  ExpectLocalRank(spec, {"worker", 3}, 2, 3);
  ExpectLocalRank(spec, {"worker", 1}, 0, 1);
  ExpectLocalRank(spec, {"ps", 0}, 0, 1);
}

TEST(LocalRankTest, AProcessWithDevicesOfItsOwnIsAlone) {
  const ClusterSpec spec{{At("worker", 0, "a", 1, "0"), At("worker", 1, "a", 2, "1"),
                          At("worker", 2, "a", 3, "2,3"), At("worker", 3, "a", 4)}};
  for (int index = 0; index < 4; ++index) ExpectLocalRank(spec, {"worker", index}, 0, 1);
}

TEST(LocalRankTest, ProcessesThatSeeTheSameDevicesShareThem) {
  const ClusterSpec spec{{At("worker", 0, "a", 1, "0,1"), At("worker", 1, "a", 2, "0,1"),
                          At("worker", 2, "b", 3, "0,1")}};
  ExpectLocalRank(spec, {"worker", 1}, 1, 2);
  ExpectLocalRank(spec, {"worker", 2}, 0, 1);
}

TEST(LocalRankTest, TwoNamesOfOneHostAreOneHost) {
  ClusterSpec spec{{At("worker", 0, "a", 1), At("worker", 1, "a.example", 2)}};
  spec.endpoints[1].host_id = spec.endpoints[0].host_id;
  ExpectLocalRank(spec, {"worker", 1}, 1, 2);
}

}  // namespace
}  // namespace tony::core
