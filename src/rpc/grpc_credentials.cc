// gRPC's credentials from ours.
#include "rpc/grpc_credentials.h"

#include "rpc/certificate_authority.h"

namespace tony::rpc {

std::shared_ptr<grpc::ServerCredentials> MakeServerCredentials(const Credentials& credentials) {
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = credentials.ca_pem;
  options.pem_key_cert_pairs.push_back({credentials.key_pem, credentials.certificate_pem});
  return grpc::SslServerCredentials(options);
}

std::shared_ptr<grpc::ChannelCredentials> MakeChannelCredentials(const Credentials& credentials) {
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
  return arguments;
}

}  // namespace tony::rpc
