// Passes a job's PEM texts to gRPC's SSL credentials.
#include "rpc/security/grpc_credentials.h"

#include <arpa/inet.h>
#include <grpcpp/create_channel.h>

#include "absl/strings/match.h"
#include "rpc/grpc/grpc_threads.h"
#include "rpc/security/certificate_authority.h"
#include "rpc/security/tls_setup.h"

namespace tony::rpc {

std::shared_ptr<grpc::ServerCredentials> MakeServerCredentials(const Credentials& credentials) {
  SetUpTls();
  KeepGrpcUp();
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = credentials.ca_pem;
  options.pem_key_cert_pairs.push_back({credentials.key_pem, credentials.certificate_pem});
  return grpc::SslServerCredentials(options);
}

std::shared_ptr<grpc::ServerCredentials> MakeOpenServerCredentials(const Credentials& credentials) {
  SetUpTls();
  KeepGrpcUp();
  grpc::SslServerCredentialsOptions options(GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  options.pem_key_cert_pairs.push_back({credentials.key_pem, credentials.certificate_pem});
  return grpc::SslServerCredentials(options);
}

std::shared_ptr<grpc::ChannelCredentials> MakeChannelCredentials(const Credentials& credentials) {
  SetUpTls();
  KeepGrpcUp();
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = credentials.ca_pem;
  options.pem_private_key = credentials.key_pem;
  options.pem_cert_chain = credentials.certificate_pem;
  return grpc::SslCredentials(options);
}

grpc::ChannelArguments MakeChannelArguments() {
  grpc::ChannelArguments arguments;
  arguments.SetSslTargetNameOverride(kApplicationMasterName);
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, kBandwidthProbe);
  return arguments;
}

std::shared_ptr<grpc::Channel> MakeMasterChannel(const std::string& address,
                                                 const Credentials& credentials,
                                                 std::optional<Duration> silence_limit) {
  in_addr number{};
  const std::string host = address.substr(0, address.rfind(':'));
  std::string scheme = "dns:";
  if (::inet_pton(AF_INET, host.c_str(), &number) == 1) scheme = "ipv4:";
  if (absl::StartsWith(host, "[")) scheme = "ipv6:";
  grpc::ChannelArguments arguments = MakeChannelArguments();
  if (silence_limit) {
    const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(*silence_limit);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, static_cast<int>(limit.count()));
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, static_cast<int>(limit.count()));
    // A follower only listens, so its pings cannot go along with data.
    arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  }
  return grpc::CreateCustomChannel(scheme + address, MakeChannelCredentials(credentials),
                                   arguments);
}

}  // namespace tony::rpc
