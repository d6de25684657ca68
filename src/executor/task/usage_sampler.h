// Measures what the task's process tree and its GPUs use.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/tasks/task_exit.h"
#include "os/containment/keeper.h"
#include "os/machine/gpus.h"

namespace tony::executor {

/// Not thread safe: owned by the event loop.
class UsageSampler {
 public:
  /// `keeper` of the program must outlive this.
  explicit UsageSampler(const os::Keeper& keeper) : keeper_(keeper) {}

  /// One sample of the process tree, about a millisecond. `gpus`: what nvidia-smi said of all GPUs
  /// of the machine, of which those in `indices` count; without any the task has none.
  core::TaskUsage Sample(const std::vector<os::Gpu>& gpus, const std::vector<int>& indices);
  /// The program has ended: the last sample with what its ranks have counted to their end. Nothing
  /// where they have counted nothing.
  std::optional<core::TaskUsage> AtEnd() const;
  /// Forgets what was measured: a new run of the program begins, whose ranks write their counters
  /// into `counters_folder` (collective_counters.h); empty: there is none.
  void Reset(std::string counters_folder);

 private:
  const os::Keeper& keeper_;
  std::string counters_folder_;
  core::TaskUsage last_;
};

}  // namespace tony::executor
