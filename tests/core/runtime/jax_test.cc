// The variables of jax.distributed.
#include <gtest/gtest.h>

#include "tests/core/runtime/runtime_context.h"

namespace tony::core {
namespace {

/// "2 of 3 at a:1" for the process of a task.
std::string Process(const ClusterSpec& cluster, const std::string& type, int index) {
  const Environment environment =
      RenderEnvironment(ContextFor(Framework::kJax, type, index, cluster));
  return ValueOf(environment, "JAX_PROCESS_ID") + " of " +
         ValueOf(environment, "JAX_NUM_PROCESSES") + " at " +
         ValueOf(environment, "JAX_COORDINATOR_ADDRESS");
}

TEST(JaxRuntimeTest, TheFirstWorkerIsTheCoordinator) {
  const ClusterSpec cluster{{EndpointAt("worker", 0, "a", 1), EndpointAt("worker", 1, "b", 2)}};
  EXPECT_EQ(Process(cluster, "worker", 0), "0 of 2 at a:1");
  EXPECT_EQ(Process(cluster, "worker", 1), "1 of 2 at a:1");
}

TEST(JaxRuntimeTest, ChiefsComeBeforeWorkers) {
  const ClusterSpec cluster{{EndpointAt("worker", 0, "a", 1), EndpointAt("worker", 1, "b", 2),
                             EndpointAt("chief", 0, "c", 3)}};
  EXPECT_EQ(Process(cluster, "chief", 0), "0 of 3 at c:3");
  EXPECT_EQ(Process(cluster, "worker", 0), "1 of 3 at c:3");
  EXPECT_EQ(Process(cluster, "worker", 1), "2 of 3 at c:3");
}

TEST(JaxRuntimeTest, OtherTypesFindTheCoordinatorButHaveNoId) {
  const ClusterSpec cluster{{EndpointAt("reader", 0, "a", 1), EndpointAt("worker", 0, "b", 2)}};
  EXPECT_EQ(Process(cluster, "reader", 0), "(unset) of 1 at b:2");
  EXPECT_EQ(Process({{EndpointAt("reader", 0, "a", 1)}}, "reader", 0),
            "(unset) of (unset) at (unset)");
}

TEST(JaxRuntimeTest, AddressesOfTheSixthVersionAreBracketed) {
  EXPECT_EQ(Process({{EndpointAt("worker", 0, "fe80::1", 7)}}, "worker", 0),
            "0 of 1 at [fe80::1]:7");
}

TEST(JaxRuntimeTest, OnOneMachineTheCoordinatorListensThereOnly) {
  const auto bind = [](const std::string& host) {
    return ValueOf(RenderEnvironment(ContextFor(Framework::kJax, "worker", 0,
                                                {{EndpointAt("worker", 0, host, 7)}})),
                   "JAX_COORDINATOR_BIND_ADDRESS");
  };
  EXPECT_EQ(bind("127.0.0.1"), "127.0.0.1:7");
  EXPECT_EQ(bind("node1"), "(unset)");
}

TEST(JaxRuntimeTest, AProcessUsesAllOfItsOwnGpusAndCountsThemFromZero) {
  TaskContext context =
      ContextFor(Framework::kJax, "worker", 0, {{EndpointAt("worker", 0, "a", 1)}});
  EXPECT_EQ(ValueOf(RenderEnvironment(context), "JAX_LOCAL_DEVICE_IDS"), "(unset)");
  context.gpus = "5";
  EXPECT_EQ(ValueOf(RenderEnvironment(context), "JAX_LOCAL_DEVICE_IDS"), "0");
  context.gpus = "2,5,7";
  EXPECT_EQ(ValueOf(RenderEnvironment(context), "JAX_LOCAL_DEVICE_IDS"), "0,1,2");
}

TEST(JaxRuntimeTest, CpusHaveCollectivesUnlessTheUserChoosesOthers) {
  TaskContext context =
      ContextFor(Framework::kJax, "worker", 0, {{EndpointAt("worker", 0, "a", 1)}});
  const char* const variable = "JAX_CPU_COLLECTIVES_IMPLEMENTATION";
  EXPECT_EQ(ValueOf(RenderEnvironment(context), variable), "gloo");
  context.user_environment = {{variable, "mpi"}};
  EXPECT_EQ(ValueOf(RenderEnvironment(context), variable), "mpi");
}

}  // namespace
}  // namespace tony::core
