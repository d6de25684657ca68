// The ApplicationMaster's service for executors: one stream for each container, and tunnels.
#pragma once

#include <functional>
#include <mutex>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "common/logging.h"
#include "core/feed/feed_messages.h"
#include "core/job/job_input.h"
#include "rpc/tunnel/tunnel_relay.h"
#include "tony/v1/application_master.grpc.pb.h"

namespace tony::rpc {

/// Turns executors' messages into inputs of the job's state machine and carries its answers back.
/// The certificate identifies the container. A container's second stream ends its first. Thread
/// safe; gRPC's threads call the sink, for each container in the order of its messages, followed by
/// the report that its stream broke. The sink must not call the service, and must return soon,
/// because it is called with the mutex held.
class ExecutorService
    : public v1::ExecutorService::WithCallbackMethod_Attach<
          v1::ExecutorService::WithRawCallbackMethod_Tunnel<
              v1::ExecutorService::WithRawCallbackMethod_Reach<v1::ExecutorService::Service>>> {
 public:
  using Sink = std::function<void(core::JobInput)>;
  /// Takes what an executor's endpoint for data says; called as the sink is.
  using FeedSink = std::function<void(const std::string& container_id, core::FeedReport)>;

  /// Takes the stacks of an executor's program; called as the sink is.
  using StackSink = std::function<void(const std::string& container_id, const v1::TaskStacks&)>;

  /// Limit on the messages that wait for one executor. The driver's executor gets the most: one for
  /// each tunnel that another executor opens, and all executors may do so at once.
  static constexpr size_t kMostQueued = 2 * size_t{TunnelRelay::kMostExecutorTunnels};

  /// `tunnels` must outlive the server.
  ExecutorService(
      std::string job_id, TunnelRelay& tunnels, Sink sink,
      FeedSink feed_sink = [](const std::string&, const core::FeedReport&) {},
      StackSink stack_sink = [](const std::string&, const v1::TaskStacks&) {});

  grpc::ServerBidiReactor<v1::ExecutorMessage, v1::MasterMessage>* Attach(
      grpc::CallbackServerContext* context) override;
  TunnelReactor* Tunnel(grpc::CallbackServerContext* context) override;
  TunnelReactor* Reach(grpc::CallbackServerContext* context) override;

  /// Queues a message for the container's executor. NotFound – the executor has no open stream (any
  /// more). ResourceExhausted – kMostQueued messages wait already; the stream is ended, so that its
  /// executor has to attach again.
  absl::Status Send(const std::string& container_id, const v1::MasterMessage& message);

 private:
  class Stream;

  const std::string job_id_;
  TunnelRelay& tunnels_;
  const Sink sink_;
  const FeedSink feed_sink_;
  const StackSink stack_sink_;
  std::mutex mutex_;  ///< guards the map and the state of every stream
  absl::flat_hash_map<std::string, Stream*> streams_;
  LogLimit refused_log_;
};

}  // namespace tony::rpc
