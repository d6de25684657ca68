// Conversion of the journal's decisions, one visitor overload for each kind.
#include <utility>

#include "common/status_macros.h"
#include "rpc/convert/convert.h"
#include "rpc/convert/utf8.h"

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
  proto.set_log_url(container.log_url);
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
  container.log_url = proto.log_url();
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
  void operator()(const core::decision::PlanAccepted& accepted) {
    proto.mutable_plan_accepted()->set_epoch(accepted.epoch);
    *proto.mutable_plan_accepted()->mutable_plan() = rpc::ToProto(accepted.plan);
  }
  void operator()(const core::decision::TaskConcluded& concluded) {
    v1::TaskConcluded* body = proto.mutable_task_concluded();
    *body->mutable_task() = rpc::ToProto(concluded.task);
    *body->mutable_exit() = rpc::ToProto(concluded.exit);
  }
  void operator()(const core::decision::TasksRestarted& restarted) {
    v1::TasksRestarted* body = proto.mutable_tasks_restarted();
    body->set_epoch(restarted.epoch);
    for (const core::TaskId& task : restarted.tasks) *body->add_tasks() = rpc::ToProto(task);
    body->set_cause(ToUtf8(restarted.cause));
    if (restarted.guilty) *body->mutable_guilty() = rpc::ToProto(*restarted.guilty);
    body->mutable_budgets()->set_user(restarted.budgets.user);
    body->mutable_budgets()->set_infrastructure(restarted.budgets.infrastructure);
    body->mutable_budgets()->set_lost_port(restarted.budgets.lost_port);
    body->mutable_budgets()->set_in_a_row(restarted.budgets.in_a_row);
    body->set_container_lost(restarted.container_lost);
    for (const core::TaskId& task : restarted.later) *body->add_later() = rpc::ToProto(task);
    body->set_delay_ms(
        std::chrono::duration_cast<std::chrono::milliseconds>(restarted.delay).count());
  }
  void operator()(const core::decision::TrackingStopped& stopped) {
    proto.mutable_tracking_stopped()->set_type(ToUtf8(stopped.type));
  }
  void operator()(const core::decision::VerdictReached& reached) {
    *proto.mutable_verdict_reached()->mutable_verdict() = rpc::ToProto(reached.verdict);
  }
  void operator()(const core::decision::ExecutorStarted& started) {
    v1::ExecutorStarted* body = proto.mutable_executor_started();
    body->set_container_id(started.container_id);
    body->set_pid(started.process.pid);
    body->set_start_ticks(started.process.start_ticks);
  }
};

core::decision::TasksRestarted FromProto(const v1::TasksRestarted& proto) {
  core::decision::TasksRestarted restarted;
  restarted.epoch = proto.epoch();
  for (const v1::TaskId& task : proto.tasks()) restarted.tasks.push_back(rpc::FromProto(task));
  restarted.cause = proto.cause();
  if (proto.has_guilty()) restarted.guilty = rpc::FromProto(proto.guilty());
  restarted.budgets = {proto.budgets().user(), proto.budgets().infrastructure(),
                       proto.budgets().lost_port(), proto.budgets().in_a_row()};
  restarted.delay = std::chrono::milliseconds(proto.delay_ms());
  restarted.container_lost = proto.container_lost();
  for (const v1::TaskId& task : proto.later()) restarted.later.push_back(rpc::FromProto(task));
  return restarted;
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
    case v1::Decision::kPlanAccepted:
      return core::decision::PlanAccepted{proto.plan_accepted().epoch(),
                                          rpc::FromProto(proto.plan_accepted().plan())};
    case v1::Decision::kTaskConcluded:
      return core::decision::TaskConcluded{FromProto(proto.task_concluded().task()),
                                           FromProto(proto.task_concluded().exit())};
    case v1::Decision::kTasksRestarted:
      return FromProto(proto.tasks_restarted());
    case v1::Decision::kTrackingStopped:
      return core::decision::TrackingStopped{proto.tracking_stopped().type()};
    case v1::Decision::kVerdictReached: {
      TONY_ASSIGN_OR_RETURN(core::Verdict verdict, FromProto(proto.verdict_reached().verdict()));
      return core::decision::VerdictReached{std::move(verdict)};
    }
    case v1::Decision::kExecutorStarted:
      return core::decision::ExecutorStarted{
          proto.executor_started().container_id(),
          {proto.executor_started().pid(), proto.executor_started().start_ticks()}};
    case v1::Decision::BODY_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("an empty decision, or one of a kind of a later version");
}

}  // namespace tony::rpc
