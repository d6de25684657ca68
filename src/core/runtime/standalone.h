// A single program that needs no cluster.
#pragma once

#include "core/runtime/runtime.h"

namespace tony::core {

/// Adds nothing. Thread safe.
class StandaloneRuntime : public Runtime {
 public:
  void Render(const TaskContext&, Environment&) const override {}
};

}  // namespace tony::core
