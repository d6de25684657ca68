// The variables of torch.distributed, and TonY's older names for them.
#include <gtest/gtest.h>

#include "tests/core/runtime/runtime_context.h"

namespace tony::core {
namespace {

std::string Ranks(const ClusterSpec& cluster, int index) {
  const Environment environment =
      RenderEnvironment(ContextFor(Framework::kPyTorch, "worker", index, cluster));
  return ValueOf(environment, "RANK") + " of " + ValueOf(environment, "WORLD_SIZE") + ", " +
         ValueOf(environment, "LOCAL_RANK") + " of " + ValueOf(environment, "LOCAL_WORLD_SIZE");
}

TEST(PyTorchRuntimeTest, TheFirstWorkerIsTheMaster) {
  const ClusterSpec cluster{
      {EndpointAt("worker", 0, "a", 29400), EndpointAt("worker", 1, "b", 29401)}};
  const Environment environment =
      RenderEnvironment(ContextFor(Framework::kPyTorch, "worker", 1, cluster));
  EXPECT_EQ(ValueOf(environment, "INIT_METHOD"), "tcp://a:29400");
  EXPECT_EQ(ValueOf(environment, "MASTER_ADDR"), "a");
  EXPECT_EQ(ValueOf(environment, "MASTER_PORT"), "29400");
  EXPECT_EQ(ValueOf(environment, "RANK"), "1");
  EXPECT_EQ(ValueOf(environment, "WORLD"), "2");
  EXPECT_EQ(ValueOf(environment, "WORLD_SIZE"), "2");
  EXPECT_EQ(ValueOf(environment, "TF_CONFIG"), "(unset)");
}

TEST(PyTorchRuntimeTest, ATorchrunInAWorkerIsANodeOfOneGroup) {
  const ClusterSpec cluster{
      {EndpointAt("worker", 0, "a", 29400), EndpointAt("worker", 1, "b", 29401)}};
  const Environment environment =
      RenderEnvironment(ContextFor(Framework::kPyTorch, "worker", 1, cluster));
  EXPECT_EQ(ValueOf(environment, "PET_NNODES"), "2");
  EXPECT_EQ(ValueOf(environment, "PET_NODE_RANK"), "1");
  EXPECT_EQ(ValueOf(environment, "PET_MASTER_ADDR"), "a");
  EXPECT_EQ(ValueOf(environment, "PET_MASTER_PORT"), "29400");
}

TEST(PyTorchRuntimeTest, AddressesOfTheSixthVersionAreBracketedOnlyInTheUrl) {
  const ClusterSpec cluster{{EndpointAt("worker", 0, "fe80::1", 29400)}};
  const Environment environment =
      RenderEnvironment(ContextFor(Framework::kPyTorch, "worker", 0, cluster));
  EXPECT_EQ(ValueOf(environment, "INIT_METHOD"), "tcp://[fe80::1]:29400");
  EXPECT_EQ(ValueOf(environment, "MASTER_ADDR"), "fe80::1");
}

TEST(PyTorchRuntimeTest, WorkersOnOneHostWithoutGpusHaveLocalRanks) {
  const ClusterSpec cluster{{EndpointAt("worker", 0, "a", 1), EndpointAt("worker", 1, "b", 2),
                             EndpointAt("worker", 2, "a", 3)}};
  EXPECT_EQ(Ranks(cluster, 0), "0 of 3, 0 of 2");
  EXPECT_EQ(Ranks(cluster, 1), "1 of 3, 0 of 1");
  EXPECT_EQ(Ranks(cluster, 2), "2 of 3, 1 of 2");
}

TEST(PyTorchRuntimeTest, WorkersWithGpusOfTheirOwnUseTheirDeviceZero) {
  ClusterSpec cluster{{EndpointAt("worker", 0, "a", 1), EndpointAt("worker", 1, "a", 2)}};
  cluster.endpoints[0].devices = "0";
  cluster.endpoints[1].devices = "1";
  EXPECT_EQ(Ranks(cluster, 0), "0 of 2, 0 of 1");
  EXPECT_EQ(Ranks(cluster, 1), "1 of 2, 0 of 1");
}

TEST(PyTorchRuntimeTest, OtherTypesFindTheMasterButHaveNoRank) {
  const ClusterSpec cluster{{EndpointAt("reader", 0, "a", 1), EndpointAt("worker", 0, "b", 2)}};
  const Environment environment =
      RenderEnvironment(ContextFor(Framework::kPyTorch, "reader", 0, cluster));
  EXPECT_EQ(ValueOf(environment, "MASTER_ADDR"), "b");
  EXPECT_EQ(ValueOf(environment, "WORLD_SIZE"), "1");
  for (const char* name : {"RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "PET_NODE_RANK"}) {
    EXPECT_EQ(ValueOf(environment, name), "(unset)") << name;
  }
}

TEST(PyTorchRuntimeTest, WithoutWorkersThereIsNothingToSay) {
  const ClusterSpec cluster{{EndpointAt("trainer", 0, "a", 1)}};
  const Environment environment =
      RenderEnvironment(ContextFor(Framework::kPyTorch, "trainer", 0, cluster));
  EXPECT_EQ(ValueOf(environment, "MASTER_ADDR"), "(unset)");
  EXPECT_EQ(ValueOf(environment, "WORLD_SIZE"), "(unset)");
}

}  // namespace
}  // namespace tony::core
