// Which programs a listener serves: asked when a connection is accepted, before a byte is read.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"

namespace tony {

/// The two ends of an accepted connection, as the kernel names them. Plain data.
struct PeerEnds {
  std::string peer_address;  ///< a number; one of version 4 in version 6's form as what it is
  uint16_t peer_port = 0;
  uint16_t local_port = 0;
};

/// Whether a peer may be served. PermissionDenied – a stranger, whom the message names; NotFound –
/// it has gone already; any other code – nobody knows whose it is, so it is not served either.
using PeerCheck = std::function<absl::Status(const PeerEnds&)>;

/// Asks a PeerCheck about accepted connections, and logs whom it refuses. A flood writes no flood
/// of lines: the 1st, 10th, 100th … refusal is logged, with the count. Not thread safe.
class PeerFilter {
 public:
  /// `listener`: what the peers connect to, for the log: "the job's page".
  PeerFilter(std::string listener, PeerCheck check);

  /// Whether the connection of this accepted socket may be served. Where not, the caller closes it
  /// at once, without reading a byte of it.
  bool Admits(int socket);

  /// How many were not admitted, without those that had gone by themselves.
  uint64_t refused() const { return refused_; }

 private:
  absl::Status Ask(int socket) const;

  std::string listener_;
  PeerCheck check_;
  uint64_t refused_ = 0;
  uint64_t gone_ = 0;
};

}  // namespace tony
