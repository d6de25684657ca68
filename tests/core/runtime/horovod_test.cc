// Tests the environment of Horovod's processes and their driver.
#include <gtest/gtest.h>

#include "tests/core/runtime/runtime_context.h"

namespace tony::core {
namespace {

const ClusterSpec kCluster{{EndpointAt("worker", 0, "a", 1), EndpointAt("worker", 1, "b", 2),
                            EndpointAt("driver", 0, "a", 3)}};

TaskContext Worker() {
  TaskContext context = ContextFor(Framework::kHorovod, "worker", 1, kCluster);
  context.horovod = HorovodSlot{.slot = {.host = "b",
                                         .rank = 1,
                                         .size = 2,
                                         .local_rank = 0,
                                         .local_size = 1,
                                         .cross_rank = 1,
                                         .cross_size = 2},
                                .address = "127.0.0.1",
                                .port = 4711,
                                .interfaces = "eth1,eth0"};
  return context;
}

TEST(HorovodRuntimeTest, AProcessKnowsItsPlaceAndWhereTheOthersAre) {
  const Environment environment = RenderEnvironment(Worker());
  const std::pair<const char*, const char*> expected[] = {
      {"HOROVOD_HOSTNAME", "b"},
      {"HOROVOD_RANK", "1"},
      {"HOROVOD_SIZE", "2"},
      {"HOROVOD_LOCAL_RANK", "0"},
      {"HOROVOD_LOCAL_SIZE", "1"},
      {"HOROVOD_CROSS_RANK", "1"},
      {"HOROVOD_CROSS_SIZE", "2"},
      {"HOROVOD_GLOO_RENDEZVOUS_ADDR", "127.0.0.1"},
      {"HOROVOD_GLOO_RENDEZVOUS_PORT", "4711"},
      {"HOROVOD_CONTROLLER", "gloo"},
      {"HOROVOD_CPU_OPERATIONS", "gloo"},
      {"HOROVOD_GLOO_IFACE", "eth1"},
      {"NCCL_SOCKET_IFNAME", "eth1,eth0"},
      {"PYTHONUNBUFFERED", "1"},
      {"LOCAL_RANK", "0"},
      {"CLUSTER_SPEC", R"({"worker":["a:1","b:2"]})"},
      {"CLUSTER_WORKER_LIST", "(unset)"},
  };
  for (const auto& [name, value] : expected) EXPECT_EQ(ValueOf(environment, name), value) << name;
}

TEST(HorovodRuntimeTest, AnElasticProcessKnowsItsRound) {
  TaskContext context = Worker();
  EXPECT_EQ(ValueOf(RenderEnvironment(context), "TONY_ROUND"), "(unset)");
  context.horovod->elastic = true;
  context.horovod->round = 3;
  EXPECT_EQ(ValueOf(RenderEnvironment(context), "HOROVOD_ELASTIC"), "1");
  EXPECT_EQ(ValueOf(RenderEnvironment(context), "TONY_ROUND"), "3");
}

TEST(HorovodRuntimeTest, WithoutInterfacesAProcessFindsThem) {
  TaskContext context = Worker();
  context.horovod->interfaces = "";
  const Environment environment = RenderEnvironment(context);
  EXPECT_EQ(ValueOf(environment, "HOROVOD_GLOO_IFACE"), "(unset)");
  EXPECT_EQ(ValueOf(environment, "NCCL_SOCKET_IFNAME"), "(unset)");
}

TEST(HorovodRuntimeTest, TheUsersOwnVariablesWin) {
  TaskContext context = Worker();
  context.user_environment = {{"HOROVOD_GLOO_IFACE", "ib0"}};
  EXPECT_EQ(ValueOf(RenderEnvironment(context), "HOROVOD_GLOO_IFACE"), "ib0");
}

TEST(HorovodRuntimeTest, TheDriverKnowsTheHosts) {
  const Environment environment =
      RenderEnvironment(ContextFor(Framework::kHorovod, "driver", 0, kCluster));
  EXPECT_EQ(ValueOf(environment, "CLUSTER_WORKER_LIST"), "a:1,b:1");
  EXPECT_EQ(ValueOf(environment, "HOROVOD_RANK"), "(unset)");
}

}  // namespace
}  // namespace tony::core
