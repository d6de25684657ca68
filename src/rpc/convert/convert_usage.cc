// Conversion of what executors measure.
#include "rpc/convert/convert.h"

#include "rpc/convert/utf8.h"

namespace tony::rpc {

v1::CollectiveUsage ToProto(const core::CollectiveUsage& usage) {
  v1::CollectiveUsage proto;
  proto.set_tensors(usage.tensors);
  proto.set_bytes(usage.bytes);
  proto.set_operations(usage.operations);
  proto.set_by_number(usage.by_number);
  proto.set_by_request(usage.by_request);
  proto.set_negotiation_seconds(usage.negotiation_seconds);
  proto.set_operation_seconds(usage.operation_seconds);
  proto.set_waited_for_seconds(usage.waited_for_seconds);
  return proto;
}

core::CollectiveUsage FromProto(const v1::CollectiveUsage& proto) {
  core::CollectiveUsage usage;
  usage.tensors = proto.tensors();
  usage.bytes = proto.bytes();
  usage.operations = proto.operations();
  usage.by_number = proto.by_number();
  usage.by_request = proto.by_request();
  usage.negotiation_seconds = proto.negotiation_seconds();
  usage.operation_seconds = proto.operation_seconds();
  usage.waited_for_seconds = proto.waited_for_seconds();
  return usage;
}

namespace {

v1::GpuUsage ToProto(const core::GpuUsage& usage) {
  v1::GpuUsage proto;
  proto.set_index(usage.index);
  proto.set_utilization(usage.utilization);
  proto.set_memory_bytes(usage.memory_bytes);
  proto.set_memory_total_bytes(usage.memory_total_bytes);
  proto.set_power_watts(usage.power_watts);
  proto.set_temperature(usage.temperature);
  proto.set_slowed(usage.slowed);
  proto.set_ecc_errors(usage.ecc_errors);
  return proto;
}

core::GpuUsage FromProto(const v1::GpuUsage& proto) {
  core::GpuUsage usage;
  usage.index = proto.index();
  usage.utilization = proto.utilization();
  usage.memory_bytes = proto.memory_bytes();
  usage.memory_total_bytes = proto.memory_total_bytes();
  usage.power_watts = proto.power_watts();
  usage.temperature = proto.temperature();
  usage.slowed = proto.slowed();
  usage.ecc_errors = proto.ecc_errors();
  return usage;
}

v1::GroupUsage ToProto(const core::GroupUsage& usage) {
  v1::GroupUsage proto;
  proto.set_memory_bytes(usage.memory_bytes);
  proto.set_max_memory_bytes(usage.max_memory_bytes);
  proto.set_periods(usage.periods);
  proto.set_throttled_periods(usage.throttled_periods);
  proto.set_throttled_seconds(usage.throttled_seconds);
  proto.set_cpu_wait_seconds(usage.cpu_wait_seconds);
  proto.set_memory_wait_seconds(usage.memory_wait_seconds);
  proto.set_io_wait_seconds(usage.io_wait_seconds);
  return proto;
}

core::GroupUsage FromProto(const v1::GroupUsage& proto) {
  core::GroupUsage usage;
  usage.memory_bytes = proto.memory_bytes();
  usage.max_memory_bytes = proto.max_memory_bytes();
  usage.periods = proto.periods();
  usage.throttled_periods = proto.throttled_periods();
  usage.throttled_seconds = proto.throttled_seconds();
  usage.cpu_wait_seconds = proto.cpu_wait_seconds();
  usage.memory_wait_seconds = proto.memory_wait_seconds();
  usage.io_wait_seconds = proto.io_wait_seconds();
  return usage;
}

v1::NetworkUsage ToProto(const core::NetworkUsage& usage) {
  v1::NetworkUsage proto;
  proto.set_sent_bytes(usage.sent_bytes);
  proto.set_received_bytes(usage.received_bytes);
  proto.set_host_sent_bytes(usage.host_sent_bytes);
  proto.set_host_received_bytes(usage.host_received_bytes);
  return proto;
}

core::NetworkUsage FromProto(const v1::NetworkUsage& proto) {
  core::NetworkUsage usage;
  usage.sent_bytes = proto.sent_bytes();
  usage.received_bytes = proto.received_bytes();
  usage.host_sent_bytes = proto.host_sent_bytes();
  usage.host_received_bytes = proto.host_received_bytes();
  return usage;
}

v1::Progress ToProto(const core::Progress& usage) {
  v1::Progress proto;
  proto.set_step(usage.step);
  proto.set_steps_per_second(usage.steps_per_second);
  proto.set_step_seconds(usage.step_seconds);
  proto.set_first_step_millis(usage.first_step_millis);
  if (usage.first_step_ago_millis >= 0) {
    proto.set_first_step_ago_millis(usage.first_step_ago_millis);
  }
  proto.set_idle_seconds(usage.idle_seconds);
  proto.set_phase(ToUtf8(usage.phase));
  for (const auto& [name, value] : usage.values) (*proto.mutable_values())[ToUtf8(name)] = value;
  proto.set_long_gap_seconds(usage.long_gap_seconds);
  proto.set_phase_seconds(usage.phase_seconds);
  proto.set_longest_phase_seconds(usage.longest_phase_seconds);
  proto.set_unread_lines(usage.unread_lines);
  if (!usage.checkpoint) return proto;
  v1::ProgressCheckpoint* checkpoint = proto.mutable_checkpoint();
  checkpoint->set_path(ToUtf8(usage.checkpoint->path));
  checkpoint->set_millis(usage.checkpoint->millis);
  checkpoint->set_seconds(usage.checkpoint->seconds);
  checkpoint->set_count(usage.checkpoint->count);
  if (usage.checkpoint->ago_millis >= 0) {
    checkpoint->set_ago_millis(usage.checkpoint->ago_millis);
  }
  return proto;
}

core::Progress FromProto(const v1::Progress& proto) {
  core::Progress usage;
  usage.step = proto.step();
  usage.steps_per_second = proto.steps_per_second();
  usage.step_seconds = proto.step_seconds();
  usage.first_step_millis = proto.first_step_millis();
  if (proto.has_first_step_ago_millis()) {
    usage.first_step_ago_millis = proto.first_step_ago_millis();
  }
  usage.idle_seconds = proto.idle_seconds();
  usage.phase = proto.phase();
  usage.values.insert(proto.values().begin(), proto.values().end());
  usage.long_gap_seconds = proto.long_gap_seconds();
  usage.phase_seconds = proto.phase_seconds();
  usage.longest_phase_seconds = proto.longest_phase_seconds();
  usage.unread_lines = proto.unread_lines();
  if (proto.has_checkpoint()) {
    const v1::ProgressCheckpoint& checkpoint = proto.checkpoint();
    usage.checkpoint = core::ProgressCheckpoint{
        checkpoint.path(), checkpoint.millis(), checkpoint.seconds(), checkpoint.count(),
        checkpoint.has_ago_millis() ? checkpoint.ago_millis() : -1};
  }
  return usage;
}

}  // namespace

v1::TaskUsage ToProto(const core::TaskUsage& usage) {
  v1::TaskUsage proto;
  proto.set_seconds(usage.seconds);
  proto.set_cpu_seconds(usage.cpu_seconds);
  proto.set_memory_bytes(usage.memory_bytes);
  proto.set_max_memory_bytes(usage.max_memory_bytes);
  proto.set_proportional_bytes(usage.proportional_bytes);
  proto.set_read_bytes(usage.read_bytes);
  proto.set_write_bytes(usage.write_bytes);
  if (usage.printed_bytes >= 0) proto.set_printed_bytes(usage.printed_bytes);
  proto.set_processes(usage.processes);
  proto.set_descriptors(usage.descriptors);
  proto.set_gpu_utilization(usage.gpu_utilization);
  proto.set_gpu_memory_bytes(usage.gpu_memory_bytes);
  for (const core::GpuUsage& gpu : usage.gpus) *proto.add_gpus() = ToProto(gpu);
  if (usage.group != core::GroupUsage()) *proto.mutable_group() = ToProto(usage.group);
  if (usage.network != core::NetworkUsage()) *proto.mutable_network() = ToProto(usage.network);
  if (usage.progress) *proto.mutable_progress() = ToProto(*usage.progress);
  if (usage.collective) *proto.mutable_collective() = ToProto(*usage.collective);
  return proto;
}

core::TaskUsage FromProto(const v1::TaskUsage& proto) {
  core::TaskUsage usage;
  usage.seconds = proto.seconds();
  usage.cpu_seconds = proto.cpu_seconds();
  usage.memory_bytes = proto.memory_bytes();
  usage.max_memory_bytes = proto.max_memory_bytes();
  usage.proportional_bytes = proto.proportional_bytes();
  usage.read_bytes = proto.read_bytes();
  usage.write_bytes = proto.write_bytes();
  if (proto.has_printed_bytes()) usage.printed_bytes = proto.printed_bytes();
  usage.processes = proto.processes();
  usage.descriptors = proto.descriptors();
  usage.gpu_utilization = proto.gpu_utilization();
  usage.gpu_memory_bytes = proto.gpu_memory_bytes();
  for (const v1::GpuUsage& gpu : proto.gpus()) usage.gpus.push_back(FromProto(gpu));
  if (proto.has_group()) usage.group = FromProto(proto.group());
  if (proto.has_network()) usage.network = FromProto(proto.network());
  if (proto.has_progress()) usage.progress = FromProto(proto.progress());
  if (proto.has_collective()) usage.collective = FromProto(proto.collective());
  return usage;
}

}  // namespace tony::rpc
