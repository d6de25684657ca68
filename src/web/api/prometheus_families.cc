// A number that is not known is negative, except where 0 stands for it. It has no sample then: an
// absent series and a zero mean different things to Prometheus.
#include "web/api/prometheus_families.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tony::web {
namespace {

using Usage = core::TaskUsage;
using Families = std::vector<PrometheusFamily>;

constexpr char kCounter[] = "counter";
constexpr char kGauge[] = "gauge";

/// A family of one sample for each task: `value` is negative where it is not known.
template <typename Value>
PrometheusFamily OfTask(const char* name, const char* type, const char* help, Value value) {
  return {name, type, help, [value](const Usage& usage, const TakeSample& take) {
            const auto number = static_cast<double>(value(usage));
            if (number >= 0) take("", number);
          }};
}

/// A family of one sample for each GPU of a task.
template <typename Number>
PrometheusFamily OfGpus(const char* name, const char* type, const char* help,
                        Number core::GpuUsage::*member, double divisor = 1) {
  return {name, type, help, [member, divisor](const Usage& usage, const TakeSample& take) {
            for (const core::GpuUsage& gpu : usage.gpus) {
              if (gpu.*member < 0) continue;
              take(absl::StrCat("gpu=\"", gpu.index, "\""),
                   static_cast<double>(gpu.*member) / divisor);
            }
          }};
}

template <typename Number>
PrometheusFamily OfCollective(const char* name, const char* help,
                              Number core::CollectiveUsage::*member) {
  return OfTask(name, kCounter, help, [member](const Usage& usage) {
    return usage.collective ? (*usage.collective).*member : Number{-1};
  });
}

template <typename Number>
PrometheusFamily OfProgress(const char* name, const char* type, const char* help,
                            Number core::Progress::*member) {
  return OfTask(name, type, help, [member](const Usage& usage) {
    return usage.progress ? (*usage.progress).*member : Number{-1};
  });
}

Families ProcessFamilies() {
  return {
      OfTask("tony_task_cpu_seconds_total", kCounter, "Processor time of the attempt.",
             [](const Usage& usage) { return usage.cpu_seconds; }),
      OfTask("tony_task_memory_bytes", kGauge, "Resident memory.",
             [](const Usage& usage) { return usage.memory_bytes; }),
      OfTask("tony_task_memory_peak_bytes", kGauge, "Highest sample of the resident memory.",
             [](const Usage& usage) { return usage.max_memory_bytes; }),
      OfTask("tony_task_memory_proportional_bytes", kGauge,
             "Memory in which shared pages count in part (PSS), measured seldom.",
             // Executors of earlier versions send 0.
             [](const Usage& usage) {
               return usage.proportional_bytes > 0 ? usage.proportional_bytes : -1;
             }),
      OfTask("tony_task_read_bytes_total", kCounter, "Bytes read from storage.",
             [](const Usage& usage) { return usage.read_bytes; }),
      OfTask("tony_task_written_bytes_total", kCounter, "Bytes written to storage.",
             [](const Usage& usage) { return usage.write_bytes; }),
      OfTask("tony_task_log_bytes_total", kCounter, "Bytes printed into the logs.",
             [](const Usage& usage) { return usage.printed_bytes; }),
      OfTask("tony_task_processes", kGauge, "Processes.",
             [](const Usage& usage) { return usage.processes; }),
      OfTask("tony_task_open_files", kGauge, "Open files, sockets and pipes.",
             [](const Usage& usage) { return usage.descriptors; }),
      OfTask("tony_task_sent_bytes_total", kCounter, "Bytes sent over TCP sockets.",
             [](const Usage& usage) { return usage.network.sent_bytes; }),
      OfTask("tony_task_received_bytes_total", kCounter, "Bytes received over TCP sockets.",
             [](const Usage& usage) { return usage.network.received_bytes; }),
      OfTask("tony_task_host_sent_bytes_total", kCounter,
             "Bytes sent by the whole host of the task, loopback left out.",
             [](const Usage& usage) { return usage.network.host_sent_bytes; }),
      OfTask("tony_task_host_received_bytes_total", kCounter,
             "Bytes received by the whole host of the task, loopback left out.",
             [](const Usage& usage) { return usage.network.host_received_bytes; }),
  };
}

void ReadPressure(const Usage& usage, const TakeSample& take) {
  for (const auto& [resource, seconds] : {std::pair("cpu", usage.group.cpu_wait_seconds),
                                          std::pair("io", usage.group.io_wait_seconds),
                                          std::pair("memory", usage.group.memory_wait_seconds)}) {
    if (seconds >= 0) take(absl::StrCat("resource=\"", resource, "\""), seconds);
  }
}

Families GroupFamilies() {
  return {
      OfTask("tony_task_group_memory_bytes", kGauge,
             "Memory of the control group, with the page cache that it caused.",
             [](const Usage& usage) { return usage.group.memory_bytes; }),
      OfTask("tony_task_group_memory_peak_bytes", kGauge, "The most memory of the control group.",
             [](const Usage& usage) { return usage.group.max_memory_bytes; }),
      OfTask("tony_task_cpu_periods_total", kCounter,
             "The scheduler's periods in which the task ran under a processor limit.",
             [](const Usage& usage) { return usage.group.periods; }),
      OfTask("tony_task_cpu_throttled_periods_total", kCounter,
             "Those of tony_task_cpu_periods_total in which the task was held back.",
             [](const Usage& usage) { return usage.group.throttled_periods; }),
      OfTask("tony_task_cpu_throttled_seconds_total", kCounter,
             "How long threads were held back by the processor limit, summed over them.",
             [](const Usage& usage) { return usage.group.throttled_seconds; }),
      {"tony_task_pressure_waiting_seconds_total", kCounter,
       "Time in which some thread waited for the resource (PSI).", &ReadPressure},
  };
}

// The bits are NVML's, nvmlClocksEventReasons*; bits that later drivers add have no sample. The
// driver need not say any: then all are 0.
void ReadLoweredClocks(const Usage& usage, const TakeSample& take) {
  constexpr std::pair<int64_t, const char*> kReasons[] = {{0x001, "idle"},
                                                          {0x002, "application_clocks"},
                                                          {0x004, "power_cap"},
                                                          {0x008, "hardware"},
                                                          {0x010, "sync_boost"},
                                                          {0x020, "software_thermal"},
                                                          {0x040, "hardware_thermal"},
                                                          {0x080, "power_brake"},
                                                          {0x100, "display_clocks"}};
  for (const core::GpuUsage& gpu : usage.gpus) {
    for (const auto& [bit, reason] : kReasons) {
      take(absl::StrCat("gpu=\"", gpu.index, "\",reason=\"", reason, "\""),
           (gpu.slowed & bit) != 0 ? 1 : 0);
    }
  }
}

Families GpuFamilies() {
  using Gpu = core::GpuUsage;
  constexpr double kPercent = 100;
  return {
      OfTask("tony_task_gpu_utilization_ratio", kGauge, "Mean of the task's GPUs.",
             [](const Usage& usage) { return usage.gpu_utilization / kPercent; }),
      OfTask("tony_task_gpu_memory_bytes", kGauge, "Sum of the task's GPUs.",
             [](const Usage& usage) { return usage.gpu_memory_bytes; }),
      OfGpus("tony_gpu_utilization_ratio", kGauge, "Share of the time in which a kernel ran.",
             &Gpu::utilization, kPercent),
      OfGpus("tony_gpu_memory_used_bytes", kGauge, "Memory in use, by whomever.",
             &Gpu::memory_bytes),
      OfGpus("tony_gpu_memory_total_bytes", kGauge, "Memory that the GPU has.",
             &Gpu::memory_total_bytes),
      OfGpus("tony_gpu_power_watts", kGauge, "Power draw.", &Gpu::power_watts),
      OfGpus("tony_gpu_temperature_celsius", kGauge, "Temperature.", &Gpu::temperature),
      OfGpus("tony_gpu_ecc_errors_total", kCounter,
             "Uncorrected errors of the memory since the driver was loaded.", &Gpu::ecc_errors),
      {"tony_gpu_clock_lowered", kGauge, "1 for each reason why the clock is lower than possible.",
       &ReadLoweredClocks},
  };
}

Families CollectiveFamilies() {
  using Collective = core::CollectiveUsage;
  return {
      OfCollective("tony_collective_tensors_total", "Tensors whose operation is done.",
                   &Collective::tensors),
      OfCollective("tony_collective_bytes_total", "Bytes of those tensors at the task's ranks.",
                   &Collective::bytes),
      OfCollective("tony_collective_operations_total",
                   "Operations, each of one tensor or of several fused ones.",
                   &Collective::operations),
      OfCollective("tony_collective_known_tensors_total",
                   "Tensors submitted by a number that rank 0 knew (cache hits).",
                   &Collective::by_number),
      OfCollective("tony_collective_described_tensors_total",
                   "Tensors submitted with a full description.", &Collective::by_request),
      OfCollective("tony_collective_negotiation_seconds_total",
                   "Time in which a tensor waited for other ranks.",
                   &Collective::negotiation_seconds),
      OfCollective("tony_collective_operation_seconds_total", "Time in which data was exchanged.",
                   &Collective::operation_seconds),
      OfCollective("tony_collective_waited_for_seconds_total",
                   "Time in which the others waited for this task only.",
                   &Collective::waited_for_seconds),
  };
}

Families ProgressFamilies() {
  using Progress = core::Progress;
  return {
      OfProgress("tony_task_step", kGauge, "The newest step that the program has named.",
                 &Progress::step),
      OfProgress("tony_task_steps_per_second", kGauge, "Over the last few steps.",
                 &Progress::steps_per_second),
      OfProgress("tony_task_step_duration_seconds", kGauge,
                 "Median of the durations of the last steps.", &Progress::step_seconds),
      OfProgress("tony_task_step_age_seconds", kGauge, "Time since the newest step was named.",
                 &Progress::idle_seconds),
      OfTask("tony_task_checkpoints_total", kCounter,
             "Checkpoints that the program says it has written.",
             [](const Usage& usage) {
               return usage.progress && usage.progress->checkpoint
                          ? usage.progress->checkpoint->count
                          : -1;
             }),
  };
}

}  // namespace

const std::vector<PrometheusFamily>& PrometheusFamilies() {
  static const Families all = [] {
    Families families;
    for (Families& part : std::vector<Families>{ProcessFamilies(), GroupFamilies(), GpuFamilies(),
                                                CollectiveFamilies(), ProgressFamilies()}) {
      for (PrometheusFamily& family : part) families.push_back(std::move(family));
    }
    return families;
  }();
  return all;
}

}  // namespace tony::web
