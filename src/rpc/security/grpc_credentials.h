// Mutually authenticated TLS for gRPC, made from a job's credentials.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "common/clock.h"
#include "grpcpp/channel.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/support/channel_arguments.h"
#include "rpc/security/credentials.h"

namespace tony::rpc {

/// The largest message that either side takes: gRPC's 4 MiB are fewer than the longest tail of
/// output that a job file may ask for.
inline constexpr int kMaxMessageBytes = 64 << 20;

/// gRPC's pings that estimate the bandwidth are off on both sides: our messages are few and small.
inline constexpr int kBandwidthProbe = 0;

/// For the ApplicationMaster's server: a peer without a certificate of the job is refused in the
/// handshake.
std::shared_ptr<grpc::ServerCredentials> MakeServerCredentials(const Credentials& credentials);

/// For a client's or executor's channel. Use together with MakeChannelArguments().
std::shared_ptr<grpc::ChannelCredentials> MakeChannelCredentials(const Credentials& credentials);

/// Arguments that make the channel accept only the ApplicationMaster's certificate, whatever
/// address it has, and messages of up to kMaxMessageBytes.
grpc::ChannelArguments MakeChannelArguments();

/// The two together: a channel to the ApplicationMaster at `address`, "host:port". A host that is
/// given as a number ("[::1]" for IPv6) needs no resolver. `silence_limit`: see JobClient.
std::shared_ptr<grpc::Channel> MakeMasterChannel(
    const std::string& address, const Credentials& credentials,
    std::optional<Duration> silence_limit = std::nullopt);

}  // namespace tony::rpc
