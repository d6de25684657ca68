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
/// safe; gRPC's threads call the sinks, for each container in the order of its messages, followed
/// by the report that its stream broke. A sink must not call the service, and must return soon,
/// because it is called with the mutex held.
class ExecutorService
    : public v1::ExecutorService::WithCallbackMethod_Attach<
          v1::ExecutorService::WithRawCallbackMethod_Tunnel<
              v1::ExecutorService::WithRawCallbackMethod_Reach<v1::ExecutorService::Service>>> {
 public:
  /// Who takes what executors say, by kind.
  struct Sinks {
    std::function<void(core::JobInput)> inputs;
    /// What an executor's endpoint for data says.
    std::function<void(const std::string& container_id, core::FeedReport)> feeds =
        [](const std::string&, const core::FeedReport&) {};
    /// The stacks of an executor's program.
    std::function<void(const std::string& container_id, const v1::TaskStacks&)> stacks =
        [](const std::string&, const v1::TaskStacks&) {};
    /// Lines of a log that an executor has read. The message may be moved from.
    std::function<void(const std::string& container_id, v1::LogLines&)> log_lines =
        [](const std::string&, v1::LogLines&) {};
  };

  /// Limit on the messages that wait for one executor. The driver's executor gets the most: one for
  /// each tunnel that another executor opens, and all executors may do so at once.
  static constexpr size_t kMostQueued = 2 * size_t{TunnelRelay::kMostExecutorTunnels};

  /// `tunnels` must outlive the server.
  ExecutorService(std::string job_id, TunnelRelay& tunnels, Sinks sinks);

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
  const Sinks sinks_;
  std::mutex mutex_;  ///< guards the map and the state of every stream
  absl::flat_hash_map<std::string, Stream*> streams_;
  LogLimit refused_log_;
};

}  // namespace tony::rpc
