// One reactor per stream, registered by container id; a queue holds the messages until gRPC has
// written the one before.
#include "rpc/services/executor_service.h"

#include <deque>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "rpc/convert/convert.h"
#include "rpc/convert/status_convert.h"
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

/// The input that a message means for the state machine; nullopt for an empty message.
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
      return heartbeat;
    }
    case v1::ExecutorMessage::kPortTaken: {
      const v1::PortTaken& body = message.port_taken();
      return core::input::PortTaken{container_id, body.epoch(), body.port(), body.holder()};
    }
    case v1::ExecutorMessage::kLogLoss:
      return core::input::LogLoss{container_id, message.log_loss().sentence()};
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
    case v1::ExecutorMessage::BODY_NOT_SET:
      break;
  }
  return std::nullopt;
}

}  // namespace

/// The stream of one executor. Deletes itself when gRPC is done with it. The service's mutex guards
/// its state.
class ExecutorService::Stream : public Reactor {
 public:
  Stream(ExecutorService& service, std::string container_id, const std::string& peer)
      : service_(service), container_id_(std::move(container_id)) {
    {
      std::lock_guard lock(service_.mutex_);
      auto found = service_.streams_.find(container_id_);
      if (found != service_.streams_.end()) {
        // The old stream is finished before the new one is registered, so each container has at
        // most one stream that speaks for it.
        LogInfo("an executor's earlier stream gives way to a new one",
                {{"container", container_id_}, {"peer", peer}});
        found->second->FinishLocked(
            grpc::Status(grpc::StatusCode::ABORTED, "the container has opened another stream"));
      }
      service_.streams_[container_id_] = this;
    }
    LogDebug("an executor's stream is open", {{"container", container_id_}, {"peer", peer}});
    StartRead(&incoming_);
  }

  void SendLocked(const v1::MasterMessage& message) {
    outgoing_.push_back(message);
    WriteNextLocked();
  }

  void OnReadDone(bool ok) override {
    if (!ok) return Break();
    {
      std::lock_guard lock(service_.mutex_);
      if (finished_) return;
    }
    if (std::optional<core::JobInput> input = ToInput(container_id_, incoming_)) {
      service_.sink_(std::move(*input));
    } else {
      LogDebug("a message of an unknown kind is ignored", {{"container", container_id_}});
    }
    StartRead(&incoming_);
  }

  void OnWriteDone(bool ok) override {
    std::lock_guard lock(service_.mutex_);
    writing_ = false;
    outgoing_.pop_front();
    if (ok) WriteNextLocked();
  }

  void OnCancel() override { Break(); }

  void OnDone() override { delete this; }

 private:
  /// The executor has ended the stream, or it is gone. A stream that was replaced reports nothing.
  void Break() {
    std::lock_guard lock(service_.mutex_);
    if (!FinishLocked(grpc::Status::OK)) return;
    LogDebug("an executor's stream has ended", {{"container", container_id_}});
    // The mutex is held during the call, so that this report comes before anything that the
    // container's next stream says.
    service_.sink_(core::input::ExecutorDetached{container_id_});
  }

  void WriteNextLocked() {
    if (writing_ || finished_ || outgoing_.empty()) return;
    writing_ = true;
    StartWrite(&outgoing_.front());
  }

  /// Ends sending and receiving. False: they had ended before.
  bool FinishLocked(const grpc::Status& status) {
    if (std::exchange(finished_, true)) return false;
    service_.streams_.erase(container_id_);
    Finish(status);
    return true;
  }

  ExecutorService& service_;
  const std::string container_id_;
  v1::ExecutorMessage incoming_;
  std::deque<v1::MasterMessage> outgoing_;
  bool writing_ = false;
  bool finished_ = false;
};

ExecutorService::ExecutorService(std::string job_id, TunnelRelay& tunnels, Sink sink)
    : job_id_(std::move(job_id)), tunnels_(tunnels), sink_(std::move(sink)) {}

grpc::ServerBidiReactor<v1::ExecutorMessage, v1::MasterMessage>* ExecutorService::Attach(
    grpc::CallbackServerContext* context) {
  const absl::StatusOr<std::string> container = CheckExecutor(*context, job_id_, refused_log_);
  if (!container.ok()) return new Refused<Reactor>(ToGrpc(container.status()));
  return new Stream(*this, *container, context->peer());
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
  if (found == streams_.end()) {
    LogDebug("a message finds no open stream to its executor",
             {{"container", container_id}, {"kind", static_cast<int>(message.body_case())}});
    return absl::NotFoundError(absl::StrCat("no open stream to container ", container_id));
  }
  found->second->SendLocked(message);
  return absl::OkStatus();
}

}  // namespace tony::rpc
