// Unknown numbers are left out: which ones are known depends on the machine, so a null for each of
// them would say nothing.
#include "core/record/usage_json.h"

#include <nlohmann/json.hpp>
#include <string>

#include "core/record/json_values.h"

namespace tony::core {
namespace {

using Json = nlohmann::ordered_json;

/// Collects members. Not thread safe.
class Known {
 public:
  template <typename Number>
  Known& Add(const char* name, Number number) {
    if (number >= 0) json_[name] = number;
    return *this;
  }
  Json Take() { return std::move(json_); }

 private:
  Json json_ = Json::object();
};

void AddUnlessEmpty(const char* name, Json part, Json& json) {
  if (!part.empty()) json[name] = std::move(part);
}

// Bits that are not set are not told: 0 may mean that the driver does not say.
Json GpuToJson(const core::GpuUsage& gpu) {
  Json json = Known()
                  .Add("index", gpu.index)
                  .Add("utilization", gpu.utilization)
                  .Add("memory_bytes", gpu.memory_bytes)
                  .Add("memory_total_bytes", gpu.memory_total_bytes)
                  .Add("power_watts", gpu.power_watts)
                  .Add("temperature", gpu.temperature)
                  .Add("ecc_errors", gpu.ecc_errors)
                  .Take();
  if (gpu.slowed > 0) json["slowed"] = gpu.slowed;
  return json;
}

// A number that is unknown is -1 in the job's state.
Json KnownOrNull(double number) { return number < 0 ? Json() : Json(number); }

}  // namespace

Json ProgressJson(const Progress& progress) {
  Json json;
  json["step"] = progress.step < 0 ? Json() : Json(progress.step);
  json["steps_per_second"] = KnownOrNull(progress.steps_per_second);
  json["step_seconds"] = KnownOrNull(progress.step_seconds);
  json["long_gap_seconds"] = KnownOrNull(progress.long_gap_seconds);
  json["first_step_millis"] = OrNull(progress.first_step_millis);
  json["idle_seconds"] = KnownOrNull(progress.idle_seconds);
  json["phase"] = OrNull(progress.phase);
  json["phase_seconds"] = KnownOrNull(progress.phase_seconds);
  json["longest_phase_seconds"] = KnownOrNull(progress.longest_phase_seconds);
  json["values"] = progress.values;
  json["checkpoint"] = Json();
  if (const auto& checkpoint = progress.checkpoint) {
    json["checkpoint"] = {{"path", checkpoint->path},
                          {"millis", checkpoint->millis},
                          {"seconds", KnownOrNull(checkpoint->seconds)},
                          {"count", checkpoint->count}};
  }
  json["unread_lines"] = progress.unread_lines;
  return json;
}

void AddKnownUsage(const core::TaskUsage& usage, Json& json) {
  json.update(Known()
                  .Add("seconds", usage.seconds)
                  .Add("proportional_bytes", usage.proportional_bytes)
                  .Add("printed_bytes", usage.printed_bytes)
                  .Add("descriptors", usage.descriptors)
                  .Add("gpu_utilization", usage.gpu_utilization)
                  .Add("gpu_memory_bytes", usage.gpu_memory_bytes)
                  .Take());
  for (const core::GpuUsage& gpu : usage.gpus) json["gpus"].push_back(GpuToJson(gpu));
  const core::GroupUsage& group = usage.group;
  AddUnlessEmpty("group",
                 Known()
                     .Add("memory_bytes", group.memory_bytes)
                     .Add("max_memory_bytes", group.max_memory_bytes)
                     .Add("periods", group.periods)
                     .Add("throttled_periods", group.throttled_periods)
                     .Add("throttled_seconds", group.throttled_seconds)
                     .Add("cpu_wait_seconds", group.cpu_wait_seconds)
                     .Add("memory_wait_seconds", group.memory_wait_seconds)
                     .Add("io_wait_seconds", group.io_wait_seconds)
                     .Take(),
                 json);
  AddUnlessEmpty("network",
                 Known()
                     .Add("sent_bytes", usage.network.sent_bytes)
                     .Add("received_bytes", usage.network.received_bytes)
                     .Add("host_sent_bytes", usage.network.host_sent_bytes)
                     .Add("host_received_bytes", usage.network.host_received_bytes)
                     .Take(),
                 json);
}

}  // namespace tony::core
