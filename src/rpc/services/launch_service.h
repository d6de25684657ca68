// The ApplicationMaster's service for executors that have a voucher and no certificate yet.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/logging.h"
#include "core/ports/cluster_backend.h"
#include "rpc/security/one_time_secrets.h"
#include "tony/v1/launch.grpc.pb.h"

namespace tony::rpc {

/// An executor that has shown its container's secret.
struct Newcomer {
  std::string container_id;
  std::string host;
  std::string host_id;
  core::ExecutorProcess process;
  std::vector<int> gpus;
  std::string peer;  ///< in gRPC's notation
};

/// Checks secrets, and leaves the answer to the event loop. Thread safe; gRPC's threads call the
/// callbacks.
class LaunchService : public v1::LaunchService::CallbackService {
 public:
  /// Answers a newcomer, once; may be called by any thread, also when the newcomer is gone. The
  /// code of an error goes to the executor.
  using Answer = std::function<void(const absl::StatusOr<core::LaunchContext>&)>;
  struct Callbacks {
    std::function<void(const Newcomer&, Answer)> on_newcomer;
    /// The right secret was shown a second time: somebody else has it, too.
    std::function<void(const std::string& sentence)> on_second_use;
  };

  /// `clock` and `secrets` must outlive the server.
  LaunchService(std::string job_id, const Clock& clock, OneTimeSecrets& secrets,
                Callbacks callbacks);

  grpc::ServerUnaryReactor* Redeem(grpc::CallbackServerContext* context,
                                   const v1::RedeemRequest* request,
                                   v1::RedeemResponse* response) override;

 private:
  const std::string job_id_;
  const Clock& clock_;
  OneTimeSecrets& secrets_;
  const Callbacks callbacks_;
  LogLimit refused_log_;
};

}  // namespace tony::rpc
