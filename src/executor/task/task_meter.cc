// A round waits for the GPUs' numbers, so that a sample's numbers are of one moment; but not for
// longer than until the next round.
#include "executor/task/task_meter.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tony::executor {
namespace {

using std::chrono::milliseconds;

/// A sample that costs more, as of hundreds of processes, is taken less often, such that it takes a
/// third of a percent of a processor. With what has a Ration that is at most half a percent.
constexpr milliseconds kDear{3};
constexpr int kPause = 300;

}  // namespace

void TaskMeter::Start(Settings settings) {
  interval_ = settings.interval;
  if (!settings.gpus.gpus.empty()) {
    gpus_ = std::make_unique<GpuReader>(loop_, std::move(settings.gpus));
  }
  Measure();
}

void TaskMeter::Measure() {
  if (callbacks_.is_running()) {
    const bool waits = gpus_ != nullptr && gpus_->Begin([this] {
      if (callbacks_.is_running()) Sample();
    });
    if (!waits) Sample();
    callbacks_.on_round();
  }
  const Duration pause = sampler_.cost() > kDear ? sampler_.cost() * kPause : Duration(0);
  timer_ = loop_.After(std::max<Duration>(interval_, pause), [this] { Measure(); });
}

void TaskMeter::Sample() {
  callbacks_.on_usage(
      sampler_.Sample(gpus_ != nullptr ? gpus_->Newest() : std::vector<core::GpuUsage>()));
}

}  // namespace tony::executor
