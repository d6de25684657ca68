// Measures the running program and its GPUs at an interval.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "common/clock.h"
#include "common/event_loop.h"
#include "core/tasks/task_usage.h"
#include "executor/task/gpu_reader.h"
#include "executor/task/usage_sampler.h"
#include "os/containment/keeper.h"

namespace tony::executor {

/// Not thread safe: owned by the event loop.
class TaskMeter {
 public:
  struct Settings {
    std::chrono::milliseconds interval;
    GpuReader::Settings gpus;  ///< without any index there is no reader
  };
  struct Callbacks {
    std::function<bool()> is_running;  ///< whether there is a program to measure
    std::function<void(const core::TaskUsage&)> on_usage;
    std::function<void()> on_round;  ///< once per interval while a program runs
  };

  /// `loop` and `keeper` must outlive this.
  TaskMeter(EventLoop& loop, const os::Keeper& keeper, Callbacks callbacks)
      : loop_(loop), callbacks_(std::move(callbacks)), sampler_(keeper) {}

  /// Measures now and after each interval, until Stop().
  void Start(Settings settings);
  void Stop() { timer_.reset(); }
  /// See UsageSampler.
  void Reset(std::string counters_folder) { sampler_.Reset(std::move(counters_folder)); }
  std::optional<core::TaskUsage> AtEnd(std::optional<core::Progress> progress) const {
    return sampler_.AtEnd(std::move(progress));
  }

 private:
  void Measure();
  void Sample();

  EventLoop& loop_;
  const Callbacks callbacks_;
  UsageSampler sampler_;
  std::chrono::milliseconds interval_{0};
  std::unique_ptr<GpuReader> gpus_;  ///< null: the task has no GPU
  std::unique_ptr<EventLoop::Handle> timer_;
};

}  // namespace tony::executor
