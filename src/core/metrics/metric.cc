// One row per metric: its name, unit and title, and the function that computes it from two samples.
// A metric that cannot be computed is nullopt, never zero: zero is a measurement.
#include "core/metrics/metric.h"

#include <algorithm>
#include <iterator>

namespace tony::core {
namespace {

using Value = std::optional<double>;

/// Two samples of one run, and the time between them.
struct Span {
  const TaskUsage* before;  ///< null: there is none
  const TaskUsage& now;

  double seconds() const { return before == nullptr ? 0 : now.seconds - before->seconds; }

  /// The growth of a counter per second. A counter may fall when a process ends before its parent
  /// has waited for it: that counts as no growth.
  template <typename Counter>
  Value Rate(Counter counter) const {
    if (seconds() <= 0 || counter(now) < 0 || counter(*before) < 0) return std::nullopt;
    return std::max(0.0, static_cast<double>(counter(now) - counter(*before))) / seconds();
  }
};

template <typename Number>
Value Known(Number value) {
  if (value < 0) return std::nullopt;
  return static_cast<double>(value);
}

/// Like Known() for what is 0 in samples of executors that do not measure it.
template <typename Number>
Value KnownAboveZero(Number value) {
  if (value <= 0) return std::nullopt;
  return static_cast<double>(value);
}

/// The sum or the greatest of a value over the task's GPUs that tell it.
template <typename Number>
Value OverGpus(const TaskUsage& usage, Number GpuUsage::*member, bool sum) {
  Value result;
  for (const GpuUsage& gpu : usage.gpus) {
    if (gpu.*member < 0) continue;
    const auto value = static_cast<double>(gpu.*member);
    result = sum ? result.value_or(0) + value : std::max(result.value_or(value), value);
  }
  return result;
}

Value SlowedGpus(const Span& span) {
  if (span.now.gpus.empty()) return std::nullopt;
  // Bit 0 says that the GPU has nothing to do, which is no reason to worry.
  constexpr int64_t kIdle = 1;
  return static_cast<double>(
      std::count_if(span.now.gpus.begin(), span.now.gpus.end(),
                    [](const GpuUsage& gpu) { return (gpu.slowed & ~kIdle) != 0; }));
}

/// The share of the scheduler's periods in which the task was held back.
Value Throttled(const Span& span) {
  if (span.before == nullptr) return std::nullopt;
  const GroupUsage& now = span.now.group;
  const GroupUsage& before = span.before->group;
  if (now.periods < 0 || before.periods < 0) return std::nullopt;
  const int64_t periods = now.periods - before.periods;
  if (periods <= 0) return 0;
  return std::clamp(static_cast<double>(now.throttled_periods - before.throttled_periods) /
                        static_cast<double>(periods),
                    0.0, 1.0);
}

/// The growth per second of one of tony.collective's counters.
template <typename Number>
Value CollectiveRate(const Span& span, Number CollectiveUsage::*member) {
  if (span.seconds() <= 0 || !span.now.collective) return std::nullopt;
  const auto before = span.before->collective ? (*span.before->collective).*member : Number{0};
  return std::max(0.0, static_cast<double>((*span.now.collective).*member - before)) /
         span.seconds();
}

Value StepsPerSecond(const Span& span) {
  return span.now.progress ? Known(span.now.progress->steps_per_second) : std::nullopt;
}

Value Step(const Span& span) {
  return span.now.progress ? Known(span.now.progress->step) : std::nullopt;
}

struct Row {
  MetricMeaning meaning;
  Value (*compute)(const Span&);
};

const Row kRows[] = {
    {{"cpu", "cores", "Processors"},
     [](const Span& s) { return s.Rate([](const TaskUsage& u) { return u.cpu_seconds; }); }},
    {{"memory", "bytes", "Memory"}, [](const Span& s) { return Known(s.now.memory_bytes); }},
    {{"gpu", "percent", "GPUs"}, [](const Span& s) { return Known(s.now.gpu_utilization); }},
    {{"gpu_memory", "bytes", "Memory of GPUs"},
     [](const Span& s) { return Known(s.now.gpu_memory_bytes); }},
    {{"step", "steps", "Step"}, Step},
    {{"steps", "1/s", "Steps per second"}, StepsPerSecond},
    {{"sent", "bytes/s", "Sent"},
     [](const Span& s) { return s.Rate([](const TaskUsage& u) { return u.network.sent_bytes; }); }},
    {{"received", "bytes/s", "Received"},
     [](const Span& s) {
       return s.Rate([](const TaskUsage& u) { return u.network.received_bytes; });
     }},
    {{"read", "bytes/s", "Read from storage"},
     [](const Span& s) { return s.Rate([](const TaskUsage& u) { return u.read_bytes; }); }},
    {{"written", "bytes/s", "Written to storage"},
     [](const Span& s) { return s.Rate([](const TaskUsage& u) { return u.write_bytes; }); }},
    {{"printed", "bytes/s", "Printed into logs"},
     [](const Span& s) { return s.Rate([](const TaskUsage& u) { return u.printed_bytes; }); }},
    {{"throttled", "ratio", "Periods held back by the processor limit"}, Throttled},
    {{"cpu_wait", "ratio", "Time in which a thread waited for a processor"},
     [](const Span& s) {
       return s.Rate([](const TaskUsage& u) { return u.group.cpu_wait_seconds; });
     }},
    {{"io_wait", "ratio", "Time in which a thread waited for storage"},
     [](const Span& s) {
       return s.Rate([](const TaskUsage& u) { return u.group.io_wait_seconds; });
     }},
    {{"memory_wait", "ratio", "Time in which a thread waited for memory"},
     [](const Span& s) {
       return s.Rate([](const TaskUsage& u) { return u.group.memory_wait_seconds; });
     }},
    {{"group_memory", "bytes", "Memory with page cache"},
     [](const Span& s) { return Known(s.now.group.memory_bytes); }},
    {{"proportional_memory", "bytes", "Memory, shared pages counted once"},
     [](const Span& s) { return KnownAboveZero(s.now.proportional_bytes); }},
    {{"exchanged", "bytes/s", "Exchanged by tony.collective"},
     [](const Span& s) { return CollectiveRate(s, &CollectiveUsage::bytes); }},
    {{"exchanging", "ratio", "Time in tony.collective's operations"},
     [](const Span& s) { return CollectiveRate(s, &CollectiveUsage::operation_seconds); }},
    {{"negotiating", "ratio", "Time in which tensors waited for other ranks"},
     [](const Span& s) { return CollectiveRate(s, &CollectiveUsage::negotiation_seconds); }},
    {{"waited_for", "ratio", "Time in which the others waited for this rank"},
     [](const Span& s) { return CollectiveRate(s, &CollectiveUsage::waited_for_seconds); }},
    {{"gpu_power", "watts", "Power of GPUs"},
     [](const Span& s) { return OverGpus(s.now, &GpuUsage::power_watts, true); }},
    {{"gpu_temperature", "°C", "Temperature of the hottest GPU"},
     [](const Span& s) { return OverGpus(s.now, &GpuUsage::temperature, false); }},
    {{"gpu_slowed", "GPUs", "GPUs with a lowered clock"}, SlowedGpus},
    {{"gpu_errors", "errors", "Uncorrected memory errors of GPUs"},
     [](const Span& s) { return OverGpus(s.now, &GpuUsage::ecc_errors, true); }},
    {{"host_sent", "bytes/s", "Sent by the whole host"},
     [](const Span& s) {
       return s.Rate([](const TaskUsage& u) { return u.network.host_sent_bytes; });
     }},
    {{"host_received", "bytes/s", "Received by the whole host"},
     [](const Span& s) {
       return s.Rate([](const TaskUsage& u) { return u.network.host_received_bytes; });
     }},
    {{"processes", "processes", "Processes"}, [](const Span& s) { return Known(s.now.processes); }},
    {{"descriptors", "descriptors", "Open files, sockets and pipes"},
     [](const Span& s) { return KnownAboveZero(s.now.descriptors); }},
};

}  // namespace

const std::vector<MetricMeaning>& MetricMeanings() {
  static const std::vector<MetricMeaning> meanings = [] {
    std::vector<MetricMeaning> all;
    for (const Row& row : kRows) all.push_back(row.meaning);
    return all;
  }();
  return meanings;
}

std::vector<MetricValue> MetricValues(const TaskUsage* before, const TaskUsage& now) {
  const Span span{before, now};
  std::vector<MetricValue> values;
  for (size_t i = 0; i < std::size(kRows); ++i) {
    const Row& row = kRows[i];
    if (const Value value = row.compute(span)) {
      values.push_back({static_cast<int>(i), {}, *value});
    }
    // What the program says about itself comes early, since a store that is full takes no more.
    if (row.meaning.name != "steps" || !now.progress) continue;
    for (const auto& [name, value] : now.progress->values) {
      values.push_back({MetricValue::kNone, name, value});
    }
  }
  return values;
}

}  // namespace tony::core
