// How ranks that share no host are connected with each other.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collective/deadline.h"
#include "collective/descriptor.h"
#include "collective/frame_mac.h"
#include "collective/link_loop.h"
#include "collective/status.h"

namespace tony::collective {

struct NetConnection {
  Descriptor socket;
  std::optional<ConnectionKeys> keys;  ///< none: frames carry no MAC
};

/// Connections to one other rank; none of the own one.
struct NetPeer {
  std::vector<NetConnection> streams;  ///< for data
  NetConnection words;                 ///< who has ended, and that this rank leaves
};

/// Of all ranks of a job to each other.
struct NetConnections {
  std::vector<NetPeer> peers;         ///< by rank
  std::vector<LinkLoop::Peer> links;  ///< of rank 0 to each, of each to rank 0
};

/// What all ranks have heard of each other before they connect.
struct NetTable {
  int rank = 0;
  std::vector<std::string> addresses;  ///< of the doors, by rank: NetDoor::address()
  std::string secret;                  ///< the job's
  std::string run;                     ///< NetHandshake
  int streams = 2;                     ///< to each rank below, for data
  bool wire_mac = false;               ///< data carries a MAC, as messages do
};

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
