// Adds up the process tree and the GPUs. The peak of the memory is kept here, as the
// largest sample.
#include "executor/task/usage_sampler.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "executor/task/collective_counters.h"
#include "os/machine/host_traffic.h"
#include "os/machine/resident_memory.h"
#include "os/machine/resource_usage.h"
#include "os/network/sock_diag.h"
#include "os/processes/open_files.h"

namespace tony::executor {
namespace {

/// Above this size a walk through all pages would hold up the executor and the program for too
/// long, however seldom; such a program is one large process as a rule, whose share is its size.
constexpr int64_t kMostForProportional = int64_t{64} << 30;

core::GroupUsage ToUsage(const os::CgroupUsage& group) {
  return {.memory_bytes = group.memory_bytes,
          .max_memory_bytes = group.max_memory_bytes,
          .periods = group.periods,
          .throttled_periods = group.throttled_periods,
          .throttled_seconds = group.throttled_seconds,
          .cpu_wait_seconds = group.cpu_wait_seconds,
          .memory_wait_seconds = group.memory_wait_seconds,
          .io_wait_seconds = group.io_wait_seconds};
}

/// Sets the sums of `usage` over the GPUs whose numbers are known.
void AddGpus(std::vector<core::GpuUsage> gpus, core::TaskUsage& usage) {
  double utilization = 0;
  int counted = 0;
  for (const core::GpuUsage& gpu : gpus) {
    if (gpu.memory_bytes >= 0) {
      usage.gpu_memory_bytes = std::max<int64_t>(0, usage.gpu_memory_bytes) + gpu.memory_bytes;
    }
    if (gpu.utilization < 0) continue;
    utilization += gpu.utilization;
    ++counted;
  }
  if (counted > 0) usage.gpu_utilization = utilization / counted;
  usage.gpus = std::move(gpus);
}

}  // namespace

core::TaskUsage UsageSampler::Sample(std::vector<core::GpuUsage> gpus) {
  if (!run_) Reset(counters_folder_);
  const Duration before = ThreadTime();
  rationed_ = Duration(0);
  core::TaskUsage usage;
  usage.seconds = SecondsSinceBegin();
  MeasureProcesses(usage);
  MeasureConnections(usage);
  MeasureGroup(usage);
  AddGpus(std::move(gpus), usage);
  usage.collective = ReadCollectiveCounters(counters_folder_);
  run_->last = usage;
  cost_ = ThreadTime() - before - rationed_;
  return usage;
}

void UsageSampler::MeasureProcesses(core::TaskUsage& usage) {
  Ask(run_->for_processes, [&] { run_->processes = keeper_.Processes(); });
  const os::ResourceUsage measured = os::ReadResourceUsage(run_->processes);
  usage.cpu_seconds = std::chrono::duration<double>(measured.cpu_time).count();
  usage.memory_bytes = measured.rss_bytes;
  usage.max_memory_bytes = std::max(run_->last.max_memory_bytes, measured.rss_bytes);
  usage.read_bytes = measured.read_bytes;
  usage.write_bytes = measured.write_bytes;
  usage.processes = measured.process_count;
  usage.proportional_bytes = run_->last.proportional_bytes;
  if (measured.rss_bytes > kMostForProportional) return;
  Ask(run_->for_proportional,
      [&] { usage.proportional_bytes = os::ProportionalBytes(run_->processes); });
}

void UsageSampler::MeasureConnections(core::TaskUsage& usage) {
  usage.descriptors = run_->last.descriptors;
  usage.network = run_->last.network;
  Ask(run_->for_connections, [&] {
    const os::OpenFiles files = os::FindOpenFiles(run_->processes);
    usage.descriptors = files.count;
    // Without a socket the kernel need not be asked, and the sums of the closed ones stay.
    std::optional<std::vector<os::SocketTraffic>> traffic;
    if (files.sockets.empty()) {
      traffic.emplace();
    } else {
      traffic = os::AskForTraffic(files.sockets);
    }
    if (files.count < 0 || !traffic) return;
    run_->traffic.Update(*traffic);
    usage.network.sent_bytes = run_->traffic.sent_bytes();
    usage.network.received_bytes = run_->traffic.received_bytes();
  });
  Ask(run_->for_host, [&] {
    const auto host = os::ReadHostTraffic();
    if (!host) return;
    usage.network.host_sent_bytes = host->sent_bytes;
    usage.network.host_received_bytes = host->received_bytes;
  });
}

// Which groups are the task's own is looked at again from time to time: a stranger may join one,
// and a program may make groups below its own.
void UsageSampler::MeasureGroup(core::TaskUsage& usage) {
  Ask(run_->for_group, [&] {
    if (!run_->processes.empty()) run_->group.Choose(run_->processes.front(), ::getpid());
  });
  usage.group = ToUsage(run_->group.Read());
}

double UsageSampler::SecondsSinceBegin() const {
  return std::chrono::duration<double>(clock_.Now() - run_->began).count();
}

std::optional<core::TaskUsage> UsageSampler::AtEnd(std::optional<core::Progress> progress) const {
  core::TaskUsage usage;
  // Its time is that of the last sample as well: nothing was counted since, which is no standstill.
  if (run_) usage = run_->last;
  usage.collective = ReadCollectiveCounters(counters_folder_);
  usage.progress = std::move(progress);
  return usage.collective || usage.progress ? std::optional(usage) : std::nullopt;
}

void UsageSampler::Reset(std::string counters_folder) {
  counters_folder_ = std::move(counters_folder);
  run_.emplace();
  run_->began = clock_.Now();
}

}  // namespace tony::executor
