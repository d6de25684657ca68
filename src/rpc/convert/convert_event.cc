// Conversion of job events, one visitor overload for each kind.
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "rpc/convert/convert.h"
#include "rpc/convert/utf8.h"

namespace tony::rpc {

v1::Verdict ToProto(const core::Verdict& verdict) {
  v1::Verdict proto;
  proto.set_outcome(core::OutcomeName(verdict.outcome));
  proto.set_reason(core::ReasonName(verdict.reason));
  proto.set_sentence(ToUtf8(verdict.sentence));
  if (verdict.guilty) *proto.mutable_guilty() = ToProto(*verdict.guilty);
  if (verdict.exit) *proto.mutable_exit() = ToProto(*verdict.exit);
  proto.set_exit_code(core::ExitCode(verdict));
  return proto;
}

absl::StatusOr<core::Verdict> FromProto(const v1::Verdict& proto) {
  std::optional<core::Outcome> outcome = core::ParseOutcome(proto.outcome());
  std::optional<core::Reason> reason = core::ParseReason(proto.reason());
  if (!outcome || !reason) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown verdict ", proto.outcome(), " / ", proto.reason()));
  }
  core::Verdict verdict{*outcome, *reason, proto.sentence(), std::nullopt, std::nullopt};
  if (proto.has_guilty()) verdict.guilty = FromProto(proto.guilty());
  if (proto.has_exit()) verdict.exit = FromProto(proto.exit());
  return verdict;
}

namespace {

/// Fills the body of a message from each kind of event. Every string is made valid UTF-8, because a
/// single invalid one would make the whole message unreadable.
struct BodyWriter {
  v1::JobEvent& proto;

  void operator()(const core::JobSubmitted& event) {
    v1::JobSubmitted* body = proto.mutable_submitted();
    body->set_job_id(ToUtf8(event.job_id));
    body->set_name(ToUtf8(event.name));
    body->set_user(ToUtf8(event.user));
    body->set_framework(ToUtf8(event.framework));
    body->set_backend(ToUtf8(event.backend));
    for (const core::JobSubmitted::Type& type : event.types) {
      v1::JobSubmitted::Type* added = body->add_types();
      added->set_name(ToUtf8(type.name));
      added->set_instances(type.instances);
      added->set_untracked(!type.tracked);
      added->set_memory_mb(type.memory_mb);
      added->set_vcores(type.vcores);
      added->set_gpus(type.gpus);
    }
    body->set_log_folder(ToUtf8(event.log_folder));
    body->set_schema_version(core::kJobEventVersion);
    body->set_master_log_url(ToUtf8(event.master_log_url));
  }
  void operator()(const core::JobStateChanged& event) {
    v1::JobStateChanged* body = proto.mutable_state_changed();
    body->set_state(core::JobStateName(event.state));
    body->set_epoch(event.epoch);
    body->set_sentence(ToUtf8(event.sentence));
  }
  void operator()(const core::JobWaiting& event) {
    v1::JobWaiting* body = proto.mutable_waiting();
    body->set_what(ToUtf8(event.what));
    for (const std::string& name : event.missing) body->add_missing(ToUtf8(name));
    body->set_unblock(ToUtf8(event.unblock));
  }
  void operator()(const core::TaskChanged& event) {
    v1::TaskChanged* body = proto.mutable_task_changed();
    *body->mutable_task() = rpc::ToProto(event.task);
    body->set_state(core::TaskStateName(event.state));
    body->set_epoch(event.epoch);
    body->set_attempt(event.attempt);
    body->set_container(ToUtf8(event.container));
    body->set_host(ToUtf8(event.host));
    body->set_port(event.port);
    body->set_pid(event.pid);
    if (event.exit) *body->mutable_exit() = rpc::ToProto(*event.exit);
    body->set_sentence(ToUtf8(event.sentence));
    body->set_containment(ToUtf8(event.containment));
    body->set_log_url(event.log_url);
    body->set_registering_millis(event.registering_millis);
  }
  void operator()(const core::EpochOpened& event) {
    v1::EpochOpened* body = proto.mutable_epoch_opened();
    body->set_epoch(event.epoch);
    body->set_cause(ToUtf8(event.cause));
    if (event.guilty) *body->mutable_guilty() = rpc::ToProto(*event.guilty);
    body->set_retries_left(event.retries_left);
    body->set_infrastructure_retries_left(event.infrastructure_retries_left);
    body->set_lost(event.lost);
    body->set_error(ToUtf8(event.error));
  }
  void operator()(const core::VisualizationReady& event) {
    v1::VisualizationReady* body = proto.mutable_visualization_ready();
    *body->mutable_task() = rpc::ToProto(event.task);
    body->set_url(ToUtf8(event.url));
  }
  void operator()(const core::TaskMeasured& event) {
    v1::TaskMeasured* body = proto.mutable_task_measured();
    *body->mutable_task() = rpc::ToProto(event.task);
    *body->mutable_usage() = rpc::ToProto(event.usage);
    body->set_attempt(event.attempt);
  }
  void operator()(const core::MasterRestarted& event) {
    proto.mutable_master_restarted()->set_incarnation(event.incarnation);
    proto.mutable_master_restarted()->set_log_url(ToUtf8(event.log_url));
  }
  void operator()(const core::JobNote& event) {
    proto.mutable_note()->set_sentence(ToUtf8(event.sentence));
  }
  void operator()(const core::JobEnded& event) {
    *proto.mutable_ended()->mutable_verdict() = rpc::ToProto(event.verdict);
  }
};

absl::StatusOr<core::JobSubmitted> FromProto(const v1::JobSubmitted& proto) {
  if (proto.schema_version() > core::kJobEventVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("a newer tony has recorded this job, in version ", proto.schema_version(),
                     " of the record, and this tony reads versions up to ", core::kJobEventVersion,
                     "; use the newer tony for this job"));
  }
  core::JobSubmitted event;
  event.job_id = proto.job_id();
  event.name = proto.name();
  event.user = proto.user();
  event.framework = proto.framework();
  event.backend = proto.backend();
  for (const v1::JobSubmitted::Type& type : proto.types()) {
    event.types.push_back(core::JobSubmitted::Type{type.name(), type.instances(), !type.untracked(),
                                                   type.memory_mb(), type.vcores(), type.gpus()});
  }
  event.log_folder = proto.log_folder();
  event.master_log_url = proto.master_log_url();
  return event;
}

absl::StatusOr<core::TaskChanged> FromProto(const v1::TaskChanged& proto) {
  core::TaskChanged event;
  std::optional<core::TaskState> state = core::ParseTaskState(proto.state());
  if (!state) return absl::InvalidArgumentError(absl::StrCat("unknown task state ", proto.state()));
  event.task = rpc::FromProto(proto.task());
  event.state = *state;
  event.epoch = proto.epoch();
  event.attempt = proto.attempt();
  event.container = proto.container();
  event.host = proto.host();
  event.port = proto.port();
  event.pid = proto.pid();
  if (proto.has_exit()) event.exit = rpc::FromProto(proto.exit());
  event.sentence = proto.sentence();
  event.containment = proto.containment();
  event.log_url = proto.log_url();
  event.registering_millis = proto.registering_millis();
  return event;
}

absl::StatusOr<core::JobStateChanged> FromProto(const v1::JobStateChanged& proto) {
  std::optional<core::JobState> state = core::ParseJobState(proto.state());
  if (!state) return absl::InvalidArgumentError(absl::StrCat("unknown job state ", proto.state()));
  return core::JobStateChanged{*state, proto.epoch(), proto.sentence()};
}

core::JobWaiting FromProto(const v1::JobWaiting& proto) {
  return core::JobWaiting{
      proto.what(), {proto.missing().begin(), proto.missing().end()}, proto.unblock()};
}

core::EpochOpened FromProto(const v1::EpochOpened& proto) {
  core::EpochOpened event{proto.epoch(),
                          proto.cause(),
                          std::nullopt,
                          proto.retries_left(),
                          proto.infrastructure_retries_left(),
                          proto.lost(),
                          proto.error()};
  if (proto.has_guilty()) event.guilty = rpc::FromProto(proto.guilty());
  return event;
}

absl::StatusOr<core::JobEventBody> BodyFromProto(const v1::JobEvent& proto) {
  switch (proto.body_case()) {
    case v1::JobEvent::kSubmitted:
      return FromProto(proto.submitted());
    case v1::JobEvent::kStateChanged:
      return FromProto(proto.state_changed());
    case v1::JobEvent::kWaiting:
      return FromProto(proto.waiting());
    case v1::JobEvent::kTaskChanged:
      return FromProto(proto.task_changed());
    case v1::JobEvent::kEpochOpened:
      return FromProto(proto.epoch_opened());
    case v1::JobEvent::kVisualizationReady:
      return core::VisualizationReady{rpc::FromProto(proto.visualization_ready().task()),
                                      proto.visualization_ready().url()};
    case v1::JobEvent::kMasterRestarted:
      return core::MasterRestarted{proto.master_restarted().incarnation(),
                                   proto.master_restarted().log_url()};
    case v1::JobEvent::kTaskMeasured:
      return core::TaskMeasured{rpc::FromProto(proto.task_measured().task()),
                                rpc::FromProto(proto.task_measured().usage()),
                                proto.task_measured().attempt()};
    case v1::JobEvent::kNote:
      return core::JobNote{proto.note().sentence()};
    case v1::JobEvent::kEnded: {
      TONY_ASSIGN_OR_RETURN(core::Verdict verdict, rpc::FromProto(proto.ended().verdict()));
      return core::JobEnded{std::move(verdict)};
    }
    case v1::JobEvent::BODY_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("an event of a kind that this version does not know");
}

}  // namespace

v1::JobEvent ToProto(const core::JobEvent& event) {
  v1::JobEvent proto;
  proto.set_sequence(event.sequence);
  proto.set_unix_millis(event.unix_millis);
  std::visit(BodyWriter{proto}, event.body);
  return proto;
}

absl::StatusOr<core::JobEvent> FromProto(const v1::JobEvent& proto) {
  TONY_ASSIGN_OR_RETURN(core::JobEventBody body, BodyFromProto(proto));
  return core::JobEvent{proto.sequence(), proto.unix_millis(), std::move(body)};
}

}  // namespace tony::rpc
