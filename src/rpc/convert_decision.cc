// Conversion of the journal's decisions, kind by kind.
#include <utility>

#include "common/status_macros.h"
#include "rpc/convert.h"
#include "rpc/utf8.h"

namespace tony::rpc {
namespace {

v1::Container ToProto(const core::Container& container) {
  v1::Container proto;
  proto.set_id(container.id);
  proto.set_type(ToUtf8(container.type));
  proto.set_host(container.host);
  proto.set_host_id(container.host_id);
  proto.mutable_gpus()->Add(container.gpus.begin(), container.gpus.end());
  proto.set_memory_mb(container.resources.memory_mb);
  proto.set_vcores(container.resources.vcores);
  return proto;
}

core::Container FromProto(const v1::Container& proto) {
  core::Container container;
  container.id = proto.id();
  container.type = proto.type();
  container.host = proto.host();
  container.host_id = proto.host_id();
  container.gpus.assign(proto.gpus().begin(), proto.gpus().end());
  container.resources = {proto.memory_mb(), proto.vcores(), proto.gpus_size()};
  return container;
}

struct DecisionWriter {
  v1::Decision& proto;

  void operator()(const core::decision::ContainerBound& bound) {
    v1::ContainerBound* body = proto.mutable_container_bound();
    *body->mutable_container() = ToProto(bound.container);
    *body->mutable_task() = rpc::ToProto(bound.task);
  }
  void operator()(const core::decision::GangReleased& released) {
    v1::GangReleased* body = proto.mutable_gang_released();
    body->set_epoch(released.epoch);
    *body->mutable_cluster_spec() = rpc::ToProto(*released.spec);
  }
  void operator()(const core::decision::TaskConcluded& concluded) {
    v1::TaskConcluded* body = proto.mutable_task_concluded();
    *body->mutable_task() = rpc::ToProto(concluded.task);
    *body->mutable_exit() = rpc::ToProto(concluded.exit);
  }
  void operator()(const core::decision::EpochBegun& begun) {
    v1::EpochBegun* body = proto.mutable_epoch_begun();
    body->set_epoch(begun.epoch);
    body->set_cause(ToUtf8(begun.cause));
    if (begun.guilty) *body->mutable_guilty() = rpc::ToProto(*begun.guilty);
    body->set_retries_left(begun.retries_left);
  }
  void operator()(const core::decision::VerdictReached& reached) {
    *proto.mutable_verdict_reached()->mutable_verdict() = rpc::ToProto(reached.verdict);
  }
};

core::decision::EpochBegun FromProto(const v1::EpochBegun& proto) {
  core::decision::EpochBegun begun{proto.epoch(), proto.cause(), std::nullopt,
                                   proto.retries_left()};
  if (proto.has_guilty()) begun.guilty = rpc::FromProto(proto.guilty());
  return begun;
}

}  // namespace

v1::Decision ToProto(const core::Decision& decision) {
  v1::Decision proto;
  std::visit(DecisionWriter{proto}, decision);
  return proto;
}

absl::StatusOr<core::Decision> FromProto(const v1::Decision& proto) {
  switch (proto.body_case()) {
    case v1::Decision::kContainerBound:
      return core::decision::ContainerBound{FromProto(proto.container_bound().container()),
                                            FromProto(proto.container_bound().task())};
    case v1::Decision::kGangReleased:
      return core::decision::GangReleased{
          proto.gang_released().epoch(),
          std::make_shared<core::ClusterSpec>(FromProto(proto.gang_released().cluster_spec()))};
    case v1::Decision::kTaskConcluded:
      return core::decision::TaskConcluded{FromProto(proto.task_concluded().task()),
                                           FromProto(proto.task_concluded().exit())};
    case v1::Decision::kEpochBegun:
      return FromProto(proto.epoch_begun());
    case v1::Decision::kVerdictReached: {
      TONY_ASSIGN_OR_RETURN(core::Verdict verdict, FromProto(proto.verdict_reached().verdict()));
      return core::decision::VerdictReached{std::move(verdict)};
    }
    case v1::Decision::BODY_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("an empty decision, or one of a kind of a later version");
}

}  // namespace tony::rpc
