// The variables by which Horovod's processes know their ranks and find each other.
#pragma once

#include "core/runtime/runtime.h"

namespace tony::core {

/// Horovod's launcher sets the same for the processes that it starts (horovod/runner/gloo_run.py).
/// The driver gets CLUSTER_WORKER_LIST, as TonY calls it: "host:2,other:1". Thread safe.
class HorovodRuntime : public Runtime {
 public:
  void Render(const TaskContext& context, Environment& environment) const override;
};

}  // namespace tony::core
