// The ApplicationMaster's gRPC server: its listening socket and both services.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "grpcpp/server.h"
#include "rpc/security/credentials.h"
#include "rpc/services/connection_acceptor.h"
#include "rpc/services/executor_service.h"
#include "rpc/services/job_service.h"

namespace tony::rpc {

/// Serves from Start() until destruction. Thread safe.
class MasterServer {
 public:
  /// Listens on a free port of `host`, with mutual TLS only. A peer has ten seconds to show its
  /// certificate. Both services must outlive the server. `silence_limit`: interval of pings to a
  /// peer that sends nothing, and the time after which an unanswered ping breaks its streams;
  /// nothing: no pings. Unavailable – the socket cannot be opened. ResourceExhausted – no thread
  /// can be started.
  static absl::StatusOr<std::unique_ptr<MasterServer>> Start(
      const std::string& host, Peers peers, const Credentials& credentials, JobService& job_service,
      ExecutorService& executor_service, std::optional<Duration> silence_limit = std::nullopt);
  ~MasterServer();

  /// "host:port"
  const std::string& address() const { return address_; }
  /// Counts of connections, and the address listened on.
  const ConnectionAcceptor& acceptor() const { return *acceptor_; }
  /// Lets open streams end by themselves for at most `patience`, then breaks them.
  void Shutdown(Duration patience);

 private:
  MasterServer() = default;

  /// Outlives the server, which reports calls to it.
  std::unique_ptr<ConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

}  // namespace tony::rpc
