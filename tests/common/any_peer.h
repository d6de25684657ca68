// Admits peers, for servers of tests that are not about admission.
#pragma once

#include "common/peer_filter.h"

namespace tony {

inline PeerCheck AnyPeer() {
  return [](const PeerEnds&) { return absl::OkStatus(); };
}

}  // namespace tony
