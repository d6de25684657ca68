// The connections between ranks that share no host, and what each must know to make them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "collective/base/descriptor.h"
#include "collective/base/frame_mac.h"
#include "collective/group/link_loop.h"

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

}  // namespace tony::collective
