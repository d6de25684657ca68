// Proofs that somebody knows a secret, without showing it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace tony::collective {

using Digest = std::array<uint8_t, 32>;

/// Of FIPS 180-4. The library takes no other one along, so it has its own.
Digest Sha256(std::string_view bytes);
/// HMAC-SHA256 of RFC 2104, with a key of any length.
Digest Hmac(std::string_view key, std::string_view message);
/// HMAC-SHA256 of several fields, each behind its length: no two lists of fields are one message.
Digest Hmac(std::string_view key, std::initializer_list<std::string_view> fields);
/// A key for one purpose: HKDF-SHA256 of RFC 5869, of which this is the first block.
/// `salt`: random numbers of both sides. `info`: the purpose.
Digest DeriveKey(std::string_view secret, std::string_view salt, std::string_view info);
/// However long it takes does not depend on where they differ.
bool AreSame(const Digest& a, const Digest& b);

}  // namespace tony::collective
