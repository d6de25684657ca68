// TF_CONFIG and CLUSTER_SPEC, from which TensorFlow's distribution strategies find each other.
#pragma once

#include "core/runtime/runtime.h"

namespace tony::core {

/// Sidecars never stand in the cluster; an evaluator sees itself in it, the others do not see it.
/// Thread safe.
class TensorFlowRuntime : public Runtime {
 public:
  void Render(const TaskContext& context, Environment& environment) const override;
};

}  // namespace tony::core
