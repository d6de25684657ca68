// TF_CONFIG and CLUSTER_SPEC as TensorFlow's strategies read them.
#include <gtest/gtest.h>

#include "tests/core/runtime/runtime_context.h"

namespace tony::core {
namespace {

ClusterSpec Cluster() {
  ClusterSpec cluster{{EndpointAt("chief", 0, "a", 1), EndpointAt("worker", 0, "a", 2),
                       EndpointAt("worker", 1, "b", 3), EndpointAt("ps", 0, "b", 4),
                       EndpointAt("evaluator", 0, "c", 5), EndpointAt("tensorboard", 0, "c", 6)}};
  cluster.endpoints.back().sidecar = true;
  return cluster;
}

Environment Render(const std::string& type, int index) {
  return RenderEnvironment(ContextFor(Framework::kTensorFlow, type, index, Cluster()));
}

TEST(TensorFlowRuntimeTest, AMemberSeesNeitherSidecarsNorTheEvaluator) {
  EXPECT_EQ(ValueOf(Render("worker", 1), "TF_CONFIG"),
            R"({"cluster":{"chief":["a:1"],"worker":["a:2","b:3"],"ps":["b:4"]},)"
            R"("task":{"type":"worker","index":1}})");
}

TEST(TensorFlowRuntimeTest, TheEvaluatorSeesItself) {
  EXPECT_EQ(
      ValueOf(Render("evaluator", 0), "TF_CONFIG"),
      R"({"cluster":{"chief":["a:1"],"worker":["a:2","b:3"],"ps":["b:4"],"evaluator":["c:5"]},)"
      R"("task":{"type":"evaluator","index":0}})");
}

TEST(TensorFlowRuntimeTest, TheClusterSpecHasAllButSidecars) {
  EXPECT_EQ(ValueOf(Render("ps", 0), "CLUSTER_SPEC"),
            R"({"chief":["a:1"],"worker":["a:2","b:3"],"ps":["b:4"],"evaluator":["c:5"]})");
}

TEST(TensorFlowRuntimeTest, ASidecarIsNoMemberOfTheClusterThatItSees) {
  EXPECT_EQ(ValueOf(Render("tensorboard", 0), "TF_CONFIG"),
            R"({"cluster":{"chief":["a:1"],"worker":["a:2","b:3"],"ps":["b:4"]},)"
            R"("task":{"type":"tensorboard","index":0}})");
}

TEST(TensorFlowRuntimeTest, TheServerMayBindThePortThatIsHeld) {
  EXPECT_EQ(ValueOf(Render("worker", 0), "TF_GRPC_REUSE_PORT"), "true");
}

}  // namespace
}  // namespace tony::core
