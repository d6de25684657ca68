// The bounds of a rendezvous server, and the counts of its answers.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace tony::rendezvous {

/// The head of a request that is longer is refused.
inline constexpr size_t kMostHeadBytes = 4096;

/// Bounds of memory, connections and waits.
struct RendezvousLimits {
  size_t connections = 4096;  ///< more are answered 503, where none can make room
  /// Connections that may wait for a value; more are answered 404 at once.
  size_t waiting = 2048;
  size_t body_bytes = size_t{64} * 1024 * 1024;        ///< of one request
  size_t receiving_bytes = size_t{256} * 1024 * 1024;  ///< of all requests that are on their way
  std::chrono::milliseconds request{10'000};           ///< for the client, to send it
  std::chrono::milliseconds hold{5'000};               ///< for the value, to be put
  std::chrono::milliseconds change{30'000};            ///< for the store, to carry out a change
  std::chrono::milliseconds response{60'000};          ///< for the client, to take it
  std::chrono::milliseconds farewell{2'000};  ///< for a client that is refused, to end by itself
};

/// Answers since the server's start.
struct RendezvousCounts {
  uint64_t found = 0;    ///< GET, with the value
  uint64_t missing = 0;  ///< GET, 404
  uint64_t puts = 0;     ///< done
  uint64_t removes = 0;  ///< done
  uint64_t refused = 0;  ///< anything else
  uint64_t held = 0;     ///< GETs, of those above and of those whose client went, that have waited
};

}  // namespace tony::rendezvous
