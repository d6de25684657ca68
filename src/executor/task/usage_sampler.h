// Measures the resources used by the task's process tree and its GPUs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/tasks/task_usage.h"
#include "os/containment/keeper.h"
#include "os/machine/gpus.h"

namespace tony::executor {

/// Not thread safe: owned by the event loop.
class UsageSampler {
 public:
  /// `keeper` (the program's) must outlive this.
  explicit UsageSampler(const os::Keeper& keeper) : keeper_(keeper) {}

  /// Takes one sample of the process tree; takes about a millisecond. `gpus`: the output of
  /// nvidia-smi for all GPUs of the machine. Only those in `indices` count; without any, the task
  /// has no GPU.
  core::TaskUsage Sample(const std::vector<os::Gpu>& gpus, const std::vector<int>& indices);
  /// Called when the program has ended: the last sample, with the counters of its ranks up to their
  /// end. Nothing if there are no counters.
  std::optional<core::TaskUsage> AtEnd() const;
  /// Forgets the measurements, because a new run of the program begins. Its ranks write their
  /// counters into `counters_folder` (collective_counters.h); empty: there is no folder.
  void Reset(std::string counters_folder);

 private:
  const os::Keeper& keeper_;
  std::string counters_folder_;
  core::TaskUsage last_;
};

}  // namespace tony::executor
