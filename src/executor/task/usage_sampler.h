// Measures the resources used by the task's process tree, its control group, network and GPUs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "core/tasks/task_usage.h"
#include "executor/task/ration.h"
#include "executor/task/traffic_counter.h"
#include "os/containment/cgroup_meter.h"
#include "os/containment/keeper.h"

namespace tony::executor {

/// 1. Each sample reads two files of each process, eight of the control group, and the counters of
///    the ranks: about 0.2 ms for a few processes.
/// 2. Whatever may cost much more has a Ration: the list of processes (by threads), descriptors and
///    connections (by their number, and by the connections of the whole machine), proportional
///    memory (by gibibytes), the host's adapters. Between two of them the last value stays.
///    Together they may take a third of a percent of a processor.
/// Not thread safe: owned by the event loop.
class UsageSampler {
 public:
  /// `keeper` (the program's) must outlive this.
  explicit UsageSampler(const os::Keeper& keeper) : keeper_(keeper) {}

  /// Takes one sample of the process tree. `gpus`: the task's, as they were read last.
  core::TaskUsage Sample(std::vector<core::GpuUsage> gpus);
  /// The processor time of the newest sample, without what has a Ration.
  Duration cost() const { return cost_; }
  /// Called when the program has ended: the last sample, with the counters of its ranks up to their
  /// end and the program's `progress`. Nothing if there is neither.
  std::optional<core::TaskUsage> AtEnd(std::optional<core::Progress> progress) const;
  /// Forgets the measurements, because a new run of the program begins. Its ranks write their
  /// counters into `counters_folder` (collective_counters.h); empty: there is no folder.
  void Reset(std::string counters_folder);

 private:
  /// What is measured of one run. A new run begins with a new one.
  struct Run {
    TimePoint began;
    std::vector<pid_t> processes;
    os::CgroupMeter group;
    TrafficCounter traffic;
    Ration for_processes{0.0005};
    Ration for_connections{0.0007};
    Ration for_proportional{0.0003};
    Ration for_host{0.0001};
    Ration for_group{0.0001};
    core::TaskUsage last;
  };

  void MeasureProcesses(core::TaskUsage& usage);
  void MeasureConnections(core::TaskUsage& usage);
  void MeasureGroup(core::TaskUsage& usage);
  double SecondsSinceBegin() const;
  /// Measures if `ration` allows.
  template <typename Measure>
  void Ask(Ration& ration, Measure measure) {
    rationed_ += ration.Run(clock_.Now(), measure);
  }

  const os::Keeper& keeper_;
  const SystemClock clock_;
  std::string counters_folder_;
  std::optional<Run> run_;  ///< nothing before the first
  Duration cost_{0};
  Duration rationed_{0};  ///< processor time of the newest sample that rations have allowed
};

}  // namespace tony::executor
