// Measures what the task's process tree and its GPUs use.
#pragma once

#include <vector>

#include "core/job/task_exit.h"
#include "os/gpus.h"
#include "os/keeper.h"

namespace tony::executor {

/// Not thread safe: owned by the event loop.
class UsageSampler {
 public:
  /// `keeper` of the program must outlive this.
  explicit UsageSampler(const os::Keeper& keeper) : keeper_(keeper) {}

  /// One sample of the process tree, about a millisecond. `gpus`: what nvidia-smi said of all GPUs
  /// of the machine, of which those in `indices` count; without any the task has none.
  core::TaskUsage Sample(const std::vector<os::Gpu>& gpus, const std::vector<int>& indices);
  /// Forgets the maximum: a new run of the program begins.
  void Reset() { max_memory_bytes_ = 0; }

 private:
  const os::Keeper& keeper_;
  int64_t max_memory_bytes_ = 0;
};

}  // namespace tony::executor
