// The gRPC server has no listener of its own: a ConnectionAcceptor hands connections to it, and an
// interceptor reports back which of them have made a call.
#include "rpc/services/master_server.h"

#include <grpcpp/server_builder.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/server_interceptor.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/process_setup.h"
#include "common/status_macros.h"
#include "rpc/security/grpc_credentials.h"

namespace tony::rpc {
namespace {

namespace experimental = grpc::experimental;
using Creators = std::vector<std::unique_ptr<experimental::ServerInterceptorFactoryInterface>>;

/// Time for a peer to show its certificate. gRPC's default is two minutes, during which a silent
/// connection costs 24 KB.
constexpr int kHandshakeLimitMs = 10'000;
/// Divisor of the process's descriptor limit that gives the share for peers without a known
/// certificate.
constexpr uint64_t kHandshakeShare = 4;
/// The most connections of newcomers that have shown no secret yet, and the time that each of them
/// has before it may have to give way.
constexpr size_t kNewcomers = 64;
constexpr std::chrono::seconds kNewcomerGrace{5};
/// The most bytes that a newcomer may send.
constexpr int kNewcomerBytes = 16 << 10;

/// Tells the acceptor which connection has made a call; only a connection with a certificate of the
/// job can make one. Intercepts nothing. Thread safe.
class CallWatch : public experimental::ServerInterceptorFactoryInterface {
 public:
  explicit CallWatch(ConnectionAcceptor& acceptor) : acceptor_(acceptor) {}

  experimental::Interceptor* CreateServerInterceptor(experimental::ServerRpcInfo* call) override {
    acceptor_.OnCall(call->server_context()->peer());
    return nullptr;
  }

 private:
  ConnectionAcceptor& acceptor_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<MasterServer>> MasterServer::Start(
    const std::string& host, Peers peers, const Credentials& credentials, JobService& job_service,
    ExecutorService& executor_service, std::optional<Duration> silence_limit) {
  ConnectionAcceptor::Limits limits;
  limits.handshakes = std::clamp<size_t>(OpenFilesLimit() / kHandshakeShare, 1, limits.handshakes);
  return Listen(host, {.peers = peers,
                       .limits = limits,
                       .credentials = MakeServerCredentials(credentials),
                       .silence_limit = silence_limit,
                       .message_bytes = kMaxMessageBytes,
                       .services = {&job_service, &executor_service}});
}

absl::StatusOr<std::unique_ptr<MasterServer>> MasterServer::StartForNewcomers(
    const std::string& host, Peers peers, const Credentials& credentials,
    LaunchService& launch_service) {
  return Listen(host, {.peers = peers,
                       .limits = {.handshakes = kNewcomers, .grace = kNewcomerGrace},
                       .credentials = MakeOpenServerCredentials(credentials),
                       .calls_admit = false,
                       .message_bytes = kNewcomerBytes,
                       .services = {&launch_service}});
}

absl::StatusOr<std::unique_ptr<MasterServer>> MasterServer::Listen(const std::string& host,
                                                                   Port port) {
  auto server = std::unique_ptr<MasterServer>(new MasterServer());
  TONY_ASSIGN_OR_RETURN(server->acceptor_,
                        ConnectionAcceptor::Listen(host, port.peers, port.limits));
  grpc::ServerBuilder builder;
  const std::shared_ptr<experimental::ExternalConnectionAcceptor> hand_over =
      builder.experimental().AddExternalConnectionAcceptor(
          grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
          port.credentials);
  if (port.calls_admit) {
    Creators creators;
    creators.push_back(std::make_unique<CallWatch>(*server->acceptor_));
    builder.experimental().SetInterceptorCreators(std::move(creators));
  }
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeLimitMs);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, kBandwidthProbe);
  // Pings come only from peers of the job, and some ping every few minutes. By default gRPC breaks
  // such connections.
  if (port.calls_admit) builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
  if (port.silence_limit) {
    const int limit_ms = static_cast<int>(*port.silence_limit / std::chrono::milliseconds(1));
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, limit_ms);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, limit_ms);
  }
  builder.SetMaxReceiveMessageSize(port.message_bytes);
  for (grpc::Service* const service : port.services) builder.RegisterService(service);
  server->server_ = builder.BuildAndStart();
  if (server->server_ == nullptr) {
    return absl::UnavailableError("gRPC refuses to serve the ApplicationMaster");
  }
  TONY_RETURN_IF_ERROR(server->acceptor_->Start([hand_over](int listener_fd, int fd) {
    experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    connection.listener_fd = listener_fd;
    connection.fd = fd;
    hand_over->HandleNewConnection(&connection);
  }));
  server->address_ = absl::StrCat(host, ":", server->acceptor_->port());
  return server;
}

MasterServer::~MasterServer() {
  if (server_ != nullptr) Shutdown(Duration::zero());
}

void MasterServer::Shutdown(Duration patience) {
  acceptor_->Stop();
  server_->Shutdown(std::chrono::system_clock::now() +
                    std::chrono::duration_cast<std::chrono::system_clock::duration>(patience));
  server_->Wait();
}

}  // namespace tony::rpc
