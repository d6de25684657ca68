// Converts between the core's plain data and the wire's messages; only this folder knows both.
#pragma once

#include "absl/status/statusor.h"
#include "core/job/job_decision.h"
#include "core/job/job_input.h"
#include "core/model/cluster_spec.h"
#include "core/record/job_event.h"
#include "core/rendezvous/worker_hosts.h"
#include "tony/v1/application_master.pb.h"
#include "tony/v1/job_event.pb.h"
#include "tony/v1/journal.pb.h"
#include "tony/v1/rendezvous.pb.h"

namespace tony::rpc {

v1::TaskId ToProto(const core::TaskId& id);
v1::TaskExit ToProto(const core::TaskExit& exit);
v1::CollectiveUsage ToProto(const core::CollectiveUsage& usage);
v1::TaskUsage ToProto(const core::TaskUsage& usage);
v1::JobEvent ToProto(const core::JobEvent& event);
v1::ClusterSpec ToProto(const core::ClusterSpec& spec);
v1::HeldTask ToProto(const core::input::HeldTask& held);
v1::Verdict ToProto(const core::Verdict& verdict);
v1::Decision ToProto(const core::Decision& decision);
v1::RendezvousPlan ToProto(const core::RendezvousPlan& plan);

core::TaskId FromProto(const v1::TaskId& id);
core::TaskExit FromProto(const v1::TaskExit& exit);
core::CollectiveUsage FromProto(const v1::CollectiveUsage& usage);
core::TaskUsage FromProto(const v1::TaskUsage& usage);
/// InvalidArgument – an empty event, or a state or reason unknown to this version.
/// FailedPrecondition – a first event with a newer core::kJobEventVersion than this one: the events
/// after it would be misunderstood.
absl::StatusOr<core::JobEvent> FromProto(const v1::JobEvent& event);
core::ClusterSpec FromProto(const v1::ClusterSpec& spec);
core::input::HeldTask FromProto(const v1::HeldTask& held);
/// InvalidArgument – an outcome or a reason unknown to this version.
absl::StatusOr<core::Verdict> FromProto(const v1::Verdict& verdict);
/// InvalidArgument – an empty decision, a kind unknown to this version, or a verdict with an
/// unknown outcome or reason.
absl::StatusOr<core::Decision> FromProto(const v1::Decision& decision);
core::RendezvousPlan FromProto(const v1::RendezvousPlan& plan);

}  // namespace tony::rpc
