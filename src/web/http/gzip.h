// Compresses answers for clients on slow networks, and unpacks them for the others.
#pragma once

#include <string>

namespace tony::web {

/// Whether answers to a peer, of a numeric address, are worth the time to compress them: loopback
/// is faster than any compression. Thread safe.
bool IsWorthCompressing(const std::string& peer_address);

/// Returns `bytes` in the gzip format, compressed at the fastest level; empty if zlib has no
/// memory. Thread safe.
std::string Gzip(const std::string& bytes);

/// Returns what Gzip() or the program gzip has compressed; empty if `packed` is not complete and
/// sound. For the program's own bytes: the result has no limit. Thread safe.
std::string Gunzip(const std::string& packed);

}  // namespace tony::web
