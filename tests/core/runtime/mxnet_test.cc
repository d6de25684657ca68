// The variables of MXNet's parameter server.
#include <gtest/gtest.h>

#include "tests/core/runtime/runtime_context.h"

namespace tony::core {
namespace {

Environment Render(const std::string& type, const std::string& scheduler_host) {
  const ClusterSpec cluster{{EndpointAt("scheduler", 0, scheduler_host, 9091),
                             EndpointAt("server", 0, "b", 2), EndpointAt("server", 1, "c", 3),
                             EndpointAt("worker", 0, "b", 4), EndpointAt("worker", 1, "c", 5),
                             EndpointAt("worker", 2, "d", 6), EndpointAt("reader", 0, "d", 7)}};
  return RenderEnvironment(ContextFor(Framework::kMxNet, type, 0, cluster));
}

TEST(MxNetRuntimeTest, EachRoleFindsTheScheduler) {
  for (const char* role : {"scheduler", "server", "worker"}) {
    const Environment environment = Render(role, "10.0.0.7");
    EXPECT_EQ(ValueOf(environment, "DMLC_ROLE"), role);
    EXPECT_EQ(ValueOf(environment, "DMLC_PS_ROOT_URI"), "10.0.0.7");
    EXPECT_EQ(ValueOf(environment, "DMLC_PS_ROOT_PORT"), "9091");
    EXPECT_EQ(ValueOf(environment, "DMLC_LOCAL"), "0");
    EXPECT_EQ(ValueOf(environment, "DMLC_NUM_SERVER"), "2");
    EXPECT_EQ(ValueOf(environment, "DMLC_NUM_WORKER"), "3");
    EXPECT_EQ(ValueOf(environment, "DMLC_NODE_HOST"), "(unset)");
    EXPECT_EQ(ValueOf(environment, "DMLC_USE_KUBERNETES"), "(unset)");
  }
}

TEST(MxNetRuntimeTest, ASchedulerWithANameListensAtAllOfItsAddresses) {
  const Environment environment = Render("worker", "node7.example.com");
  EXPECT_EQ(ValueOf(environment, "DMLC_PS_ROOT_URI"), "node7.example.com");
  EXPECT_EQ(ValueOf(environment, "DMLC_USE_KUBERNETES"), "1");
  EXPECT_EQ(ValueOf(Render("worker", "fe80::1"), "DMLC_USE_KUBERNETES"), "(unset)");
}

TEST(MxNetRuntimeTest, OnOneMachineNothingIsReachedFromOutside) {
  EXPECT_EQ(ValueOf(Render("server", "127.0.0.1"), "DMLC_NODE_HOST"), "127.0.0.1");
}

TEST(MxNetRuntimeTest, OtherTypesHaveNoRole) {
  for (const auto& [name, value] : Render("reader", "a")) EXPECT_NE(name.substr(0, 5), "DMLC_");
}

}  // namespace
}  // namespace tony::core
