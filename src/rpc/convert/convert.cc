// Conversion of ids, exits and the cluster spec.
#include "rpc/convert/convert.h"

#include <algorithm>

#include "rpc/convert/utf8.h"

namespace tony::rpc {

v1::TaskId ToProto(const core::TaskId& id) {
  v1::TaskId proto;
  proto.set_type(ToUtf8(id.type));
  proto.set_index(id.index);
  return proto;
}

core::TaskId FromProto(const v1::TaskId& id) { return core::TaskId{id.type(), id.index()}; }

v1::TaskExit ToProto(const core::TaskExit& exit) {
  v1::TaskExit proto;
  switch (exit.cause) {
    case core::TaskExit::Cause::kExited:
      proto.set_cause(v1::TaskExit::EXITED);
      break;
    case core::TaskExit::Cause::kSignaled:
      proto.set_cause(v1::TaskExit::SIGNALED);
      break;
    case core::TaskExit::Cause::kNotStarted:
      proto.set_cause(v1::TaskExit::NOT_STARTED);
      break;
    case core::TaskExit::Cause::kTimedOut:
      proto.set_cause(v1::TaskExit::TIMED_OUT);
      break;
    case core::TaskExit::Cause::kOutOfMemory:
      proto.set_cause(v1::TaskExit::OUT_OF_MEMORY);
      break;
    case core::TaskExit::Cause::kLost:
      proto.set_cause(v1::TaskExit::LOST);
      break;
    case core::TaskExit::Cause::kStopped:
      proto.set_cause(v1::TaskExit::STOPPED);
      break;
  }
  proto.set_code(exit.code);
  proto.set_signal(exit.signal);
  proto.set_message(ToUtf8(exit.message));
  for (const std::string& line : exit.tail) proto.add_tail(ToUtf8(line));
  proto.set_ended_millis(exit.ended_millis);
  proto.set_host_millis(exit.host_millis);
  if (exit.ended_ago_millis >= 0) proto.set_ended_ago_millis(exit.ended_ago_millis);
  proto.set_model_parameters(exit.model_parameters);
  for (const auto& [name, value] : exit.reported) (*proto.mutable_reported())[name] = value;
  return proto;
}

core::TaskExit FromProto(const v1::TaskExit& proto) {
  core::TaskExit exit;
  switch (proto.cause()) {
    case v1::TaskExit::EXITED:
      exit.cause = core::TaskExit::Cause::kExited;
      break;
    case v1::TaskExit::SIGNALED:
      exit.cause = core::TaskExit::Cause::kSignaled;
      break;
    case v1::TaskExit::NOT_STARTED:
      exit.cause = core::TaskExit::Cause::kNotStarted;
      break;
    case v1::TaskExit::TIMED_OUT:
      exit.cause = core::TaskExit::Cause::kTimedOut;
      break;
    case v1::TaskExit::STOPPED:
      exit.cause = core::TaskExit::Cause::kStopped;
      break;
    case v1::TaskExit::OUT_OF_MEMORY:
      exit.cause = core::TaskExit::Cause::kOutOfMemory;
      break;
    // An unknown cause comes from a newer peer; it must not count as success.
    default:
      exit.cause = core::TaskExit::Cause::kLost;
      break;
  }
  exit.code = proto.code();
  exit.signal = proto.signal();
  exit.message = proto.message();
  exit.tail.assign(proto.tail().begin(), proto.tail().end());
  exit.ended_millis = proto.ended_millis();
  exit.host_millis = proto.host_millis();
  if (proto.has_ended_ago_millis()) {
    exit.ended_ago_millis = std::max<int64_t>(0, proto.ended_ago_millis());
  }
  exit.model_parameters = proto.model_parameters();
  exit.reported.insert(proto.reported().begin(), proto.reported().end());
  return exit;
}

v1::ClusterSpec ToProto(const core::ClusterSpec& spec) {
  v1::ClusterSpec proto;
  for (const core::Endpoint& endpoint : spec.endpoints) {
    v1::ClusterSpec::Endpoint* added = proto.add_endpoints();
    *added->mutable_task() = ToProto(endpoint.task);
    added->set_host(ToUtf8(endpoint.host));
    added->set_port(endpoint.port);
    added->set_host_id(endpoint.host_id);
    added->set_devices(endpoint.devices);
    added->set_sidecar(endpoint.sidecar);
  }
  return proto;
}

core::ClusterSpec FromProto(const v1::ClusterSpec& proto) {
  core::ClusterSpec spec;
  spec.endpoints.reserve(proto.endpoints_size());
  for (const v1::ClusterSpec::Endpoint& endpoint : proto.endpoints()) {
    spec.endpoints.push_back(core::Endpoint{FromProto(endpoint.task()), endpoint.host(),
                                            endpoint.port(), endpoint.host_id(), endpoint.devices(),
                                            endpoint.sidecar()});
  }
  return spec;
}

v1::HeldTask ToProto(const core::input::HeldTask& held) {
  using Phase = core::input::HeldTask::Phase;
  v1::HeldTask proto;
  switch (held.phase) {
    case Phase::kPreparing:
      proto.set_phase(v1::HeldTask::PREPARING);
      break;
    case Phase::kRegistered:
      proto.set_phase(v1::HeldTask::REGISTERED);
      break;
    case Phase::kRunning:
      proto.set_phase(v1::HeldTask::RUNNING);
      break;
    case Phase::kEnded:
      proto.set_phase(v1::HeldTask::ENDED);
      *proto.mutable_exit() = ToProto(held.exit);
      break;
  }
  proto.set_epoch(held.epoch);
  proto.set_attempt(held.attempt);
  proto.set_port(held.port);
  proto.set_visualization_port(held.visualization_port);
  proto.set_pid(held.pid);
  return proto;
}

core::input::HeldTask FromProto(const v1::HeldTask& proto) {
  using Phase = core::input::HeldTask::Phase;
  core::input::HeldTask held;
  switch (proto.phase()) {
    case v1::HeldTask::REGISTERED:
      held.phase = Phase::kRegistered;
      break;
    case v1::HeldTask::RUNNING:
      held.phase = Phase::kRunning;
      break;
    case v1::HeldTask::ENDED:
      held.phase = Phase::kEnded;
      break;
    // An unknown phase comes from a newer peer; kPreparing is the phase that promises least.
    default:
      held.phase = Phase::kPreparing;
      break;
  }
  held.epoch = proto.epoch();
  held.attempt = proto.attempt();
  held.port = proto.port();
  held.visualization_port = proto.visualization_port();
  held.pid = proto.pid();
  if (proto.has_exit()) held.exit = FromProto(proto.exit());
  return held;
}

}  // namespace tony::rpc
