// The TCP connections of one rank, and the table from which it makes them.
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
  std::optional<ConnectionKeys> keys;  ///< empty: frames carry no MAC
};

/// The connections to one other rank. The own rank has none.
struct NetPeer {
  std::vector<NetConnection> streams;  ///< for data
  NetConnection words;                 ///< for the words "has ended" and "leaves" of NetMesh
};

/// The connections of this rank to all other ranks of the job.
struct NetConnections {
  std::vector<NetPeer> peers;         ///< by rank
  std::vector<LinkLoop::Peer> links;  ///< on rank 0: to each other rank; elsewhere: to rank 0
};

/// The table that all ranks know of each other before they connect.
struct NetTable {
  int rank = 0;                        ///< the own one
  std::vector<std::string> addresses;  ///< NetAcceptor::address() of each rank, by rank
  std::string secret;                  ///< the job's key
  std::string run;                     ///< the run's name, as in NetHandshake
  int streams = 2;                     ///< data connections between two ranks
  bool wire_mac = false;               ///< data carries a MAC, as messages always do
};

}  // namespace tony::collective
