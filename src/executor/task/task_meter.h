// Measures the running program at an interval, with the GPUs' tool on a thread of its own.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/clock.h"
#include "common/event_loop.h"
#include "core/tasks/task_usage.h"
#include "executor/task/usage_sampler.h"
#include "os/containment/keeper.h"
#include "os/machine/gpus.h"

namespace tony::executor {

/// Not thread safe: owned by the event loop.
class TaskMeter {
 public:
  struct Settings {
    std::chrono::milliseconds interval;
    std::vector<int> gpus;  ///< indices of the task's GPUs; without any, the tool is not run
    std::string gpu_tool;   ///< path of nvidia-smi
    std::chrono::milliseconds gpu_tool_timeout;
  };
  struct Callbacks {
    std::function<bool()> is_running;  ///< whether there is a program to measure
    std::function<void(const core::TaskUsage&)> on_usage;
    std::function<void()> on_round;  ///< once per interval while a program runs
  };

  /// `loop` and `keeper` must outlive this.
  TaskMeter(EventLoop& loop, const os::Keeper& keeper, Callbacks callbacks)
      : loop_(loop), callbacks_(std::move(callbacks)), sampler_(keeper) {}
  /// Waits for the GPUs' tool, which has a time limit.
  ~TaskMeter();

  /// Measures now and after each interval, until Stop().
  void Start(Settings settings);
  void Stop() { timer_.reset(); }
  /// See UsageSampler.
  void Reset(std::string counters_folder) { sampler_.Reset(std::move(counters_folder)); }
  std::optional<core::TaskUsage> AtEnd() const { return sampler_.AtEnd(); }

 private:
  void Measure();
  void MeasureWithGpus();

  EventLoop& loop_;
  const Callbacks callbacks_;
  UsageSampler sampler_;
  Settings settings_;
  bool reading_gpus_ = false;  ///< the tool runs, or its result is on its way
  std::thread gpu_reader_;
  std::unique_ptr<EventLoop::Handle> timer_;
};

}  // namespace tony::executor
