// How ranks that share no host are connected with each other.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "collective/base/deadline.h"
#include "collective/base/descriptor.h"
#include "collective/base/status.h"
#include "collective/net/net_connections.h"

namespace tony::collective {

/// 1. Each rank opens a door, a listening socket, and tells its address by other means.
/// 2. It calls at the doors of all ranks below, several times, and is called by those above.
/// 3. Both sides of each connection prove that they know the secret (net_handshake.h). Strangers
/// are sent away, also those that say nothing, and the wait goes on. Not thread safe.
class NetDoor {
 public:
  /// `host`: the address to listen on, in numbers. Without a secret only loopback ones are.
  /// InvalidArgument: it is none, or no loopback one without a secret. ResourceExhausted: no
  /// descriptor. Internal: this host has no such address.
  static Result<std::unique_ptr<NetDoor>> Open(const std::string& host, bool has_secret);

  const std::string& address() const { return address_; }

  /// Until all ranks are connected.
  /// DeadlineExceeded: names who is missing. FailedPrecondition: somebody is not there, or refuses
  /// us, or does not know the secret; there is none; the table has another address for this rank.
  /// ResourceExhausted: no descriptors.
  Result<NetConnections> Meet(const NetTable& table, Deadline deadline);

 private:
  NetDoor(Descriptor door, std::string address)
      : door_(std::move(door)), address_(std::move(address)) {}

  const Descriptor door_;
  const std::string address_;
};

}  // namespace tony::collective
