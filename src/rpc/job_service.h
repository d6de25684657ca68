// The ApplicationMaster's service for clients: following and stopping the job.
#pragma once

#include <functional>
#include <string>

#include "rpc/event_log.h"
#include "tony/v1/application_master.grpc.pb.h"

namespace tony::rpc {

/// Checks the role `client` on every call. Thread safe; callbacks come from gRPC's threads.
class JobService : public v1::JobService::CallbackService {
 public:
  struct Callbacks {
    std::function<void(const std::string& reason)> on_stop;
    std::function<void()> on_owner_attached;
    /// The stream of the client that owns the job broke before the job's end.
    std::function<void()> on_owner_gone;
  };

  /// `log` must outlive the server.
  JobService(std::string job_id, EventLog& log, Callbacks callbacks);

  grpc::ServerWriteReactor<v1::JobEvent>* Follow(grpc::CallbackServerContext* context,
                                                 const v1::FollowRequest* request) override;
  grpc::ServerUnaryReactor* Stop(grpc::CallbackServerContext* context,
                                 const v1::StopRequest* request,
                                 v1::StopResponse* response) override;

 private:
  const std::string job_id_;
  EventLog& log_;
  const Callbacks callbacks_;
};

}  // namespace tony::rpc
