// The ApplicationMaster's service for executors: one stream for each container, and tunnels.
#pragma once

#include <functional>
#include <mutex>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "core/job/job_input.h"
#include "rpc/tunnel/tunnel_relay.h"
#include "tony/v1/application_master.grpc.pb.h"

namespace tony::rpc {

/// Turns messages of executors into inputs of the job's state machine and carries its answers. Who
/// speaks is what the certificate says; a second stream of a container ends the first. Thread safe;
/// the sink is called from gRPC's threads, for one container in the order of its messages, the last
/// of which is that its stream broke. It must not call the service.
class ExecutorService : public v1::ExecutorService::CallbackService {
 public:
  using Sink = std::function<void(core::JobInput)>;

  /// `tunnels` must outlive the server.
  ExecutorService(std::string job_id, TunnelRelay& tunnels, Sink sink);

  grpc::ServerBidiReactor<v1::ExecutorMessage, v1::MasterMessage>* Attach(
      grpc::CallbackServerContext* context) override;
  TunnelReactor* Tunnel(grpc::CallbackServerContext* context) override;
  TunnelReactor* Reach(grpc::CallbackServerContext* context) override;

  /// Queues a message for the container's executor. NotFound – it has no open stream (any more).
  absl::Status Send(const std::string& container_id, const v1::MasterMessage& message);

 private:
  class Stream;

  const std::string job_id_;
  TunnelRelay& tunnels_;
  const Sink sink_;
  std::mutex mutex_;  ///< guards the map and the state of every stream
  absl::flat_hash_map<std::string, Stream*> streams_;
};

}  // namespace tony::rpc
