// Proofs that somebody knows a secret, without showing it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tony::collective {

using Digest = std::array<uint8_t, 32>;

/// Of FIPS 180-4. The library takes no other one along, so it has its own.
Digest Sha256(std::string_view bytes);
/// HMAC-SHA256 of RFC 2104, with a key of any length.
Digest Hmac(std::string_view key, std::string_view message);
/// However long it takes does not depend on where they differ.
bool AreSame(const Digest& a, const Digest& b);

}  // namespace tony::collective
