// The limits of a rendezvous server, and the counts of its answers.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace tony::rendezvous {

/// Largest head of a request; a longer one is refused.
inline constexpr size_t kMostHeadBytes = 4096;

/// Limits of memory, connections and waits.
struct RendezvousLimits {
  size_t connections = 4096;  ///< more are answered 503, unless one can make room
  /// Connections that may wait for a value; more are answered 404 at once.
  size_t waiting = 2048;
  size_t body_bytes = size_t{64} * 1024 * 1024;        ///< limit of one request
  size_t receiving_bytes = size_t{256} * 1024 * 1024;  ///< limit of all requests on their way
  std::chrono::milliseconds request{10'000};           ///< limit for the client to send the request
  std::chrono::milliseconds hold{5'000};               ///< limit for the value to be put
  std::chrono::milliseconds change{30'000};    ///< limit for the store to carry out a change
  std::chrono::milliseconds response{60'000};  ///< limit for the client to read the answer
  std::chrono::milliseconds farewell{2'000};   ///< limit for a refused client to close first
};

/// Numbers of answers since the server's start.
struct RendezvousCounts {
  uint64_t found = 0;    ///< GET answered with the value
  uint64_t missing = 0;  ///< GET answered 404
  uint64_t puts = 0;     ///< PUT carried out
  uint64_t removes = 0;  ///< DELETE carried out
  uint64_t refused = 0;  ///< any other answer
  uint64_t held = 0;     ///< GETs that have waited: answered above, or their client went
};

}  // namespace tony::rendezvous
