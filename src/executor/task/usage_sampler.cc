// Adds up the process tree and the GPUs. The peak of the memory is kept here, as the
// largest sample.
#include "executor/task/usage_sampler.h"

#include <algorithm>
#include <utility>

#include "executor/task/collective_counters.h"
#include "os/machine/resource_usage.h"

namespace tony::executor {

core::TaskUsage UsageSampler::Sample(const std::vector<os::Gpu>& gpus,
                                     const std::vector<int>& indices) {
  const os::ResourceUsage measured = os::ReadResourceUsage(keeper_.Processes());
  core::TaskUsage usage;
  usage.cpu_seconds = std::chrono::duration<double>(measured.cpu_time).count();
  usage.memory_bytes = measured.rss_bytes;
  usage.max_memory_bytes = std::max(last_.max_memory_bytes, measured.rss_bytes);
  usage.read_bytes = measured.read_bytes;
  usage.write_bytes = measured.write_bytes;
  usage.processes = measured.process_count;
  double utilization = 0;
  int counted = 0;
  for (const os::Gpu& gpu : gpus) {
    if (std::find(indices.begin(), indices.end(), gpu.index) == indices.end()) continue;
    utilization += std::max(0, gpu.utilization_percent);
    usage.gpu_memory_bytes =
        std::max<int64_t>(0, usage.gpu_memory_bytes) + std::max<int64_t>(0, gpu.memory_used_bytes);
    ++counted;
  }
  if (counted > 0) usage.gpu_utilization = utilization / counted;
  usage.collective = ReadCollectiveCounters(counters_folder_);
  last_ = usage;
  return usage;
}

std::optional<core::TaskUsage> UsageSampler::AtEnd() const {
  core::TaskUsage usage = last_;
  usage.collective = ReadCollectiveCounters(counters_folder_);
  return usage.collective ? std::optional(usage) : std::nullopt;
}

void UsageSampler::Reset(std::string counters_folder) {
  counters_folder_ = std::move(counters_folder);
  last_ = {};
}

}  // namespace tony::executor
