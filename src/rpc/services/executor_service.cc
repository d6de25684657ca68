// One reactor per stream, registered by container id. The sink is called with the mutex held, which
// orders the messages of a container's streams and the reports of their ends.
#include "rpc/services/executor_service.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "rpc/convert/convert.h"
#include "rpc/convert/convert_feed.h"
#include "rpc/convert/status_convert.h"
#include "rpc/grpc/stream_reactor.h"
#include "rpc/security/peer_role.h"
#include "rpc/services/refused.h"

namespace tony::rpc {
namespace {

using Reactor = grpc::ServerBidiReactor<v1::ExecutorMessage, v1::MasterMessage>;

/// The container of the calling executor. PermissionDenied – it is not an executor of this job.
absl::StatusOr<std::string> CheckExecutor(const grpc::CallbackServerContext& context,
                                          const std::string& job_id, LogLimit& log) {
  absl::StatusOr<Role> role = PeerRole(*context.auth_context(), job_id);
  if (role.ok() && role->kind != RoleKind::kExecutor) {
    role = absl::PermissionDeniedError("only an executor may do this");
  }
  if (role.ok()) return role->container_id;
  LogRefusal(log, context, job_id, std::string(role.status().message()));
  return role.status();
}

core::input::ExecutorAttached ToInput(const std::string& container_id, const v1::Hello& hello) {
  core::input::ExecutorAttached attached{
      .container_id = container_id, .containment = hello.containment(), .boot_id = hello.boot_id()};
  if (hello.has_held()) attached.held = FromProto(hello.held());
  return attached;
}

core::input::ContainerEnded ToInput(const std::string& container_id, const v1::Leaving& leaving) {
  return {container_id, {.lost = leaving.lost(), .sentence = leaving.sentence()}};
}

/// The input that a message means for the state machine; nullopt for an empty message.
// Longer than 60 lines because it is one switch over the kinds of messages.
std::optional<core::JobInput> ToInput(const std::string& container_id,
                                      const v1::ExecutorMessage& message) {
  switch (message.body_case()) {
    case v1::ExecutorMessage::kHello:
      return ToInput(container_id, message.hello());
    case v1::ExecutorMessage::kRegistered: {
      const v1::Registered& body = message.registered();
      return core::input::ExecutorRegistered{container_id, body.epoch(), body.attempt(),
                                             body.port(), body.visualization_port()};
    }
    case v1::ExecutorMessage::kTaskStarted:
      return core::input::TaskStarted{container_id, message.task_started().epoch(),
                                      message.task_started().attempt(),
                                      message.task_started().pid()};
    case v1::ExecutorMessage::kTaskEnded:
      return core::input::TaskEnded{container_id, message.task_ended().epoch(),
                                    message.task_ended().attempt(),
                                    FromProto(message.task_ended().exit())};
    case v1::ExecutorMessage::kHeartbeat: {
      core::input::Heartbeat heartbeat{
          .container_id = container_id, .usage = std::nullopt, .sent = message.heartbeat().sent()};
      if (message.heartbeat().has_usage()) heartbeat.usage = FromProto(message.heartbeat().usage());
      for (const v1::TaskUsage& usage : message.heartbeat().earlier()) {
        heartbeat.earlier.push_back(FromProto(usage));
      }
      return heartbeat;
    }
    case v1::ExecutorMessage::kPortTaken: {
      const v1::PortTaken& body = message.port_taken();
      return core::input::PortTaken{container_id, body.epoch(), body.port(), body.holder()};
    }
    case v1::ExecutorMessage::kTaskNote:
      return core::input::TaskNote{container_id, message.task_note().sentence()};
    case v1::ExecutorMessage::kTaskSilent: {
      const v1::TaskSilent& body = message.task_silent();
      return core::input::TaskSilent{container_id, body.epoch(), body.attempt(),
                                     body.silent_millis(), body.cpu_share()};
    }
    case v1::ExecutorMessage::kVisualizationListener: {
      const v1::VisualizationListener& body = message.visualization_listener();
      return core::input::VisualizationListener{container_id, body.epoch(), body.attempt(),
                                                body.listens()};
    }
    case v1::ExecutorMessage::kRanksPlanned:
      return core::input::RanksPlanned{
          container_id, message.ranks_planned().epoch(), message.ranks_planned().attempt(),
          FromProto(message.ranks_planned().plan()), message.ranks_planned().trouble()};
    case v1::ExecutorMessage::kRendezvousWait: {
      const v1::RendezvousWait& body = message.rendezvous_wait();
      return core::input::RendezvousWait{
          container_id,
          body.epoch(),
          body.attempt(),
          {body.sentence(), {body.missing().begin(), body.missing().end()}}};
    }
    case v1::ExecutorMessage::kLeaving:
      return ToInput(container_id, message.leaving());
    case v1::ExecutorMessage::kFeed:  // not for the state machine
    case v1::ExecutorMessage::kStacks:
    case v1::ExecutorMessage::kLogLines:
    case v1::ExecutorMessage::BODY_NOT_SET:
      break;
  }
  return std::nullopt;
}

}  // namespace

/// The stream of one executor. The service's mutex guards its state.
class ExecutorService::Stream : public ServerStream<Reactor, v1::MasterMessage> {
 public:
  Stream(ExecutorService& service, grpc::CallbackServerContext* context, std::string container_id)
      : ServerStream(service.mutex_, kMostQueued),
        service_(service),
        context_(context),
        container_id_(std::move(container_id)) {
    {
      std::lock_guard lock(service_.mutex_);
      auto found = service_.streams_.find(container_id_);
      if (found != service_.streams_.end()) {
        // The old stream is finished before the new one is registered, so each container has at
        // most one stream that speaks for it.
        LogInfo("an executor's earlier stream gives way to a new one",
                {{"container", container_id_}, {"peer", context->peer()}});
        found->second->EndLocked(
            grpc::Status(grpc::StatusCode::ABORTED, "the container has opened another stream"));
      }
      service_.streams_[container_id_] = this;
    }
    LogDebug("an executor's stream is open",
             {{"container", container_id_}, {"peer", context->peer()}});
    StartRead(&incoming_);
  }

  /// ResourceExhausted – the executor does not read, and its stream is ended. FailedPrecondition –
  /// a write has failed, so the stream is about to end.
  absl::Status SendLocked(const v1::MasterMessage& message) {
    absl::Status queued = WriteLocked(message);
    if (absl::IsResourceExhausted(queued)) {
      LogWarning("an executor does not read: its stream is ended", {{"container", container_id_}});
      BreakLocked();
      // The message that gRPC has would keep the stream open for as long as nobody reads it.
      context_->TryCancel();
    }
    return queued;
  }

  void OnReadDone(bool ok) override {
    if (!ok) return OnCancel();
    std::optional<core::JobInput> input = ToInput(container_id_, incoming_);
    std::optional<core::FeedReport> report;
    if (incoming_.has_feed()) report = FromProto(incoming_.feed());
    if (!input && !report && !incoming_.has_stacks() && !incoming_.has_log_lines()) {
      LogDebug("a message of an unknown kind is ignored", {{"container", container_id_}});
    }
    {
      std::lock_guard lock(service_.mutex_);
      if (finished_locked()) return;
      // The mutex is held during the call. Otherwise another thread could end this stream between
      // the check and the call, and this message would follow the report that the stream broke, or
      // the Hello of the container's next stream.
      const Sinks& sinks = service_.sinks_;
      if (input) sinks.inputs(*std::move(input));
      if (report) sinks.feeds(container_id_, *std::move(report));
      if (incoming_.has_stacks()) sinks.stacks(container_id_, incoming_.stacks());
      if (incoming_.has_log_lines()) {
        sinks.log_lines(container_id_, *incoming_.mutable_log_lines());
      }
    }
    StartRead(&incoming_);
  }

  /// The executor has ended the stream, or it is gone.
  void OnCancel() override {
    std::lock_guard lock(service_.mutex_);
    BreakLocked();
  }

 private:
  /// Ends the stream and reports it. A stream that was replaced reports nothing.
  void BreakLocked() {
    if (!EndLocked(grpc::Status::OK)) return;
    LogDebug("an executor's stream has ended", {{"container", container_id_}});
    // The mutex is held during the call, so that this report comes before anything that the
    // container's next stream says.
    service_.sinks_.inputs(core::input::ExecutorDetached{container_id_});
  }

  /// Ends sending and receiving. False: they had ended before.
  bool EndLocked(const grpc::Status& status) {
    if (!FinishLocked(status)) return false;
    service_.streams_.erase(container_id_);
    return true;
  }

  ExecutorService& service_;
  grpc::CallbackServerContext* const context_;
  const std::string container_id_;
  v1::ExecutorMessage incoming_;
};

ExecutorService::ExecutorService(std::string job_id, TunnelRelay& tunnels, Sinks sinks)
    : job_id_(std::move(job_id)), tunnels_(tunnels), sinks_(std::move(sinks)) {}

grpc::ServerBidiReactor<v1::ExecutorMessage, v1::MasterMessage>* ExecutorService::Attach(
    grpc::CallbackServerContext* context) {
  const absl::StatusOr<std::string> container = CheckExecutor(*context, job_id_, refused_log_);
  if (!container.ok()) return new Refused<Reactor>(ToGrpc(container.status()));
  return new Stream(*this, context, *container);
}

TunnelReactor* ExecutorService::Tunnel(grpc::CallbackServerContext* context) {
  const absl::StatusOr<std::string> container = CheckExecutor(*context, job_id_, refused_log_);
  if (!container.ok()) return new Refused<TunnelReactor>(ToGrpc(container.status()));
  return tunnels_.FromExecutor(context, *container);
}

TunnelReactor* ExecutorService::Reach(grpc::CallbackServerContext* context) {
  const absl::StatusOr<std::string> container = CheckExecutor(*context, job_id_, refused_log_);
  if (!container.ok()) return new Refused<TunnelReactor>(ToGrpc(container.status()));
  return tunnels_.FromReachingExecutor(context);
}

absl::Status ExecutorService::Send(const std::string& container_id,
                                   const v1::MasterMessage& message) {
  std::lock_guard lock(mutex_);
  auto found = streams_.find(container_id);
  if (found != streams_.end()) {
    absl::Status sent = found->second->SendLocked(message);
    if (!absl::IsFailedPrecondition(sent)) return sent;
  }
  LogDebug("a message finds no open stream to its executor",
           {{"container", container_id}, {"kind", static_cast<int>(message.body_case())}});
  return absl::NotFoundError(absl::StrCat("no open stream to container ", container_id));
}

}  // namespace tony::rpc
