// Compresses answers for clients on slow networks.
#pragma once

#include <string>

namespace tony::web {

/// Returns `bytes` in the gzip format, compressed at the fastest level; empty if zlib has no
/// memory. Thread safe.
std::string Gzip(const std::string& bytes);

}  // namespace tony::web
