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

/// The largest message in bytes that either side accepts. gRPC's default of 4 MiB is less than the
/// longest output tail that a job file may ask for.
inline constexpr int kMaxMessageBytes = 64 << 20;

/// Turns off gRPC's pings that estimate the bandwidth, on both sides: our messages are few and
/// small.
inline constexpr int kBandwidthProbe = 0;

/// Credentials for the ApplicationMaster's server: the handshake refuses a peer without a
/// certificate of the job.
std::shared_ptr<grpc::ServerCredentials> MakeServerCredentials(const Credentials& credentials);

/// Credentials for a server whose peers have no certificate yet: they check it, and it does not ask
/// for theirs.
std::shared_ptr<grpc::ServerCredentials> MakeOpenServerCredentials(const Credentials& credentials);

/// Credentials for a client's or executor's channel. Without a certificate, for such a server. Use
/// them together with MakeChannelArguments().
std::shared_ptr<grpc::ChannelCredentials> MakeChannelCredentials(const Credentials& credentials);

/// Arguments that make the channel accept only the ApplicationMaster's certificate, at whatever
/// address, and messages of up to kMaxMessageBytes.
grpc::ChannelArguments MakeChannelArguments();

/// Combines the two: a channel to the ApplicationMaster at `address`, "host:port". A numeric host
/// ("[::1]" for IPv6) needs no resolver. `silence_limit`: see JobClient.
std::shared_ptr<grpc::Channel> MakeMasterChannel(
    const std::string& address, const Credentials& credentials,
    std::optional<Duration> silence_limit = std::nullopt);

}  // namespace tony::rpc
