// Building and ending the server.
#include "rpc/master_server.h"

#include <grpcpp/server_builder.h>

#include "absl/strings/str_cat.h"
#include "rpc/grpc_credentials.h"

namespace tony::rpc {

absl::StatusOr<std::unique_ptr<MasterServer>> MasterServer::Start(
    const std::string& host, const Credentials& credentials, JobService& job_service,
    ExecutorService& executor_service) {
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, kBandwidthProbe);
  // Who pings is of the job: gRPC would break with one that does it every few minutes.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
  builder.AddListeningPort(absl::StrCat(host, ":0"), MakeServerCredentials(credentials), &port);
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.RegisterService(&job_service);
  builder.RegisterService(&executor_service);
  auto server = std::unique_ptr<MasterServer>(new MasterServer());
  server->server_ = builder.BuildAndStart();
  if (server->server_ == nullptr || port == 0) {
    return absl::UnavailableError(absl::StrCat("the ApplicationMaster cannot listen on ", host));
  }
  server->address_ = absl::StrCat(host, ":", port);
  return server;
}

MasterServer::~MasterServer() {
  if (server_ != nullptr) Shutdown(Duration::zero());
}

void MasterServer::Shutdown(Duration patience) {
  server_->Shutdown(std::chrono::system_clock::now() +
                    std::chrono::duration_cast<std::chrono::system_clock::duration>(patience));
  server_->Wait();
}

}  // namespace tony::rpc
