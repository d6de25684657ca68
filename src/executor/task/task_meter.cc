// nvidia-smi may take seconds, so it runs on a thread of its own and never blocks the loop. A round
// that finds it still running is left out.
#include "executor/task/task_meter.h"

#include <utility>

#include "common/logging.h"

namespace tony::executor {

TaskMeter::~TaskMeter() {
  if (gpu_reader_.joinable()) gpu_reader_.join();
}

void TaskMeter::Start(Settings settings) {
  settings_ = std::move(settings);
  Measure();
}

void TaskMeter::Measure() {
  if (callbacks_.is_running()) {
    if (settings_.gpus.empty()) {
      callbacks_.on_usage(sampler_.Sample({}, {}));
    } else {
      MeasureWithGpus();
    }
    callbacks_.on_round();
  }
  timer_ = loop_.After(settings_.interval, [this] { Measure(); });
}

void TaskMeter::MeasureWithGpus() {
  if (reading_gpus_) return LogDebug("a measurement is left out: the GPU tool still runs");
  reading_gpus_ = true;
  if (gpu_reader_.joinable()) gpu_reader_.join();
  gpu_reader_ = std::thread([this, tool = settings_.gpu_tool, limit = settings_.gpu_tool_timeout] {
    os::GpuInventory inventory = os::DetectGpus(tool, limit);
    loop_.Post([this, gpus = std::move(inventory.gpus)] {
      reading_gpus_ = false;
      if (callbacks_.is_running()) callbacks_.on_usage(sampler_.Sample(gpus, settings_.gpus));
    });
  });
}

}  // namespace tony::executor
