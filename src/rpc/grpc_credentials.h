// Mutually authenticated TLS for gRPC, made from a job's credentials.
#pragma once

#include <memory>

#include "grpcpp/security/credentials.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/support/channel_arguments.h"
#include "rpc/credentials.h"

namespace tony::rpc {

/// For the ApplicationMaster's server: a peer without a certificate of the job is refused in the
/// handshake.
std::shared_ptr<grpc::ServerCredentials> MakeServerCredentials(const Credentials& credentials);

/// For a client's or executor's channel. Use together with MakeChannelArguments().
std::shared_ptr<grpc::ChannelCredentials> MakeChannelCredentials(const Credentials& credentials);

/// Arguments that make the channel accept only the ApplicationMaster's certificate, whatever
/// address it has.
grpc::ChannelArguments MakeChannelArguments();

}  // namespace tony::rpc
