// The variables of torch.distributed's env:// rendezvous, and TonY's older names for them.
#pragma once

#include "core/runtime/runtime.h"

namespace tony::core {

/// RANK is the index among the workers; worker:0's reserved port is the master's. Other types get
/// no rank. Thread safe.
class PyTorchRuntime : public Runtime {
 public:
  void Render(const TaskContext& context, Environment& environment) const override;
};

}  // namespace tony::core
