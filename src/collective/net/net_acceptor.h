// The acceptor of a rank: opens its listening TCP socket and connects it with all other ranks.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "collective/base/deadline.h"
#include "collective/base/descriptor.h"
#include "collective/base/status.h"
#include "collective/net/net_connections.h"

namespace tony::collective {

/// 1. Each rank opens a listening socket and publishes its address by other means.
/// 2. Each rank connects several times to the listeners of all lower ranks, and accepts the
/// connections of all higher ranks.
/// 3. Both sides of each connection prove that they know the secret (net_handshake.h). Connections
/// of strangers are closed, also those that send nothing, and the wait goes on. Not thread safe.
class NetAcceptor {
 public:
  /// `host`: the numeric address to listen on. Without a secret it must be a loopback address.
  /// InvalidArgument: `host` is no address, or there is no secret and it is no loopback address.
  /// ResourceExhausted: no descriptor. Internal: this host has no such address.
  static Result<std::unique_ptr<NetAcceptor>> Open(const std::string& host, bool has_secret);

  /// The address and port that the socket listens on, as NetAddress::Text().
  const std::string& address() const { return address_; }

  /// Waits until all ranks are connected.
  /// DeadlineExceeded: names the ranks that are missing. FailedPrecondition: a rank is not there,
  /// refuses this rank, or does not know the secret; there is no secret; the table has another
  /// address for this rank. ResourceExhausted: no descriptors.
  Result<NetConnections> Meet(const NetTable& table, Deadline deadline);

 private:
  NetAcceptor(Descriptor listener, std::string address)
      : listener_(std::move(listener)), address_(std::move(address)) {}

  const Descriptor listener_;
  const std::string address_;
};

}  // namespace tony::collective
