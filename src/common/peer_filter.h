// Decides which programs a listener serves, when a connection is accepted and before a byte is
// read.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"

namespace tony {

/// The two ends of an accepted connection, as the kernel reports them. Plain data.
struct PeerEnds {
  std::string peer_address;  ///< numeric; an IPv4-mapped IPv6 address in its IPv4 form
  uint16_t peer_port = 0;
  uint16_t local_port = 0;
};

/// Decides whether a peer may be served. PermissionDenied – a stranger, named by the message.
/// NotFound – the peer has gone already. Any other code – the peer's user is not known, so it is
/// not served either.
using PeerCheck = std::function<absl::Status(const PeerEnds&)>;

/// Asks a PeerCheck about accepted connections, and logs refusals. A flood of connections causes no
/// flood of lines: the 1st, 10th, 100th … refusal is logged, with the count. Not thread safe.
class PeerFilter {
 public:
  /// `listener`: name of the thing that peers connect to, for the log, such as "the job's page".
  PeerFilter(std::string listener, PeerCheck check);

  /// Whether the connection of this accepted socket may be served. If not, the caller must close it
  /// at once, without reading a byte of it.
  bool Admits(int socket);

  /// Number of refused connections, without peers that had gone by themselves.
  uint64_t refused() const { return refused_; }

 private:
  absl::Status Ask(int socket) const;

  std::string listener_;
  PeerCheck check_;
  uint64_t refused_ = 0;
  // peers that had gone by themselves
  uint64_t gone_ = 0;
};

}  // namespace tony
