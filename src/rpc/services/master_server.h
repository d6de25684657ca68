// The ApplicationMaster's gRPC servers: a listening socket with the services behind it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "grpcpp/server.h"
#include "rpc/security/credentials.h"
#include "rpc/services/connection_acceptor.h"
#include "rpc/services/executor_service.h"
#include "rpc/services/job_service.h"
#include "rpc/services/launch_service.h"

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
  /// Listens in the same way on a port for executors that have no certificate yet. Its messages are
  /// small, and a connection takes up one of few places until Admit() is called for it.
  /// The codes of Start().
  static absl::StatusOr<std::unique_ptr<MasterServer>> StartForNewcomers(
      const std::string& host, Peers peers, const Credentials& credentials,
      LaunchService& launch_service);
  ~MasterServer();

  /// "host:port"
  const std::string& address() const { return address_; }
  /// Counts of connections, and the address listened on.
  const ConnectionAcceptor& acceptor() const { return *acceptor_; }
  /// The peer, in gRPC's notation, has shown a secret of the job.
  void Admit(const std::string& peer) { acceptor_->OnCall(peer); }
  /// Lets open streams end by themselves for at most `patience`, then breaks them.
  void Shutdown(Duration patience);

 private:
  /// The differences between the two ports.
  struct Port {
    Peers peers;
    ConnectionAcceptor::Limits limits;
    std::shared_ptr<grpc::ServerCredentials> credentials;
    bool calls_admit = true;                     ///< a peer that makes a call has a certificate
    std::optional<Duration> silence_limit = {};  ///< see Start()
    int message_bytes = 0;
    std::vector<grpc::Service*> services;
  };

  MasterServer() = default;
  /// The codes of Start().
  static absl::StatusOr<std::unique_ptr<MasterServer>> Listen(const std::string& host, Port port);

  /// Outlives the server, which reports calls to it.
  std::unique_ptr<ConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

}  // namespace tony::rpc
