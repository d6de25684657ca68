// Rendering of TensorFlow's variables.
#include "core/runtime/tensorflow.h"

#include <nlohmann/json.hpp>

namespace tony::core {

void TensorFlowRuntime::Render(const TaskContext& context, Environment& environment) const {
  environment["CLUSTER_SPEC"] = context.cluster.ToJson();
  // TensorFlow counts an evaluator as no member of the training cluster.
  std::vector<std::string> without;
  if (context.task.type != "evaluator") without.push_back("evaluator");
  nlohmann::ordered_json config;
  config["cluster"] = nlohmann::ordered_json::parse(context.cluster.ToJson(without));
  config["task"]["type"] = context.task.type;
  config["task"]["index"] = context.task.index;
  environment["TF_CONFIG"] = config.dump();
  // The executor holds the port while TensorFlow's server binds it.
  environment["TF_GRPC_REUSE_PORT"] = "true";
}

}  // namespace tony::core
