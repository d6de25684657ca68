// Which peers a server of a test serves, where that is not what the test is about.
#pragma once

#include "common/peer_filter.h"

namespace tony {

inline PeerCheck AnyPeer() {
  return [](const PeerEnds&) { return absl::OkStatus(); };
}

}  // namespace tony
