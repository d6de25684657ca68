// SHA-256, HMAC and HKDF, by which ranks prove that they know the job's key without sending it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace tony::collective {

using Digest = std::array<uint8_t, 32>;

/// SHA-256 of FIPS 180-4. The library depends on no other one, so it has its own implementation.
Digest Sha256(std::string_view bytes);
/// HMAC-SHA256 of RFC 2104, with a key of any length.
Digest Hmac(std::string_view key, std::string_view message);
/// HMAC-SHA256 of several fields. Each field is preceded by its length, so no two different lists
/// of fields make the same message.
Digest Hmac(std::string_view key, std::initializer_list<std::string_view> fields);
/// Derives a key for one purpose: the first block of HKDF-SHA256 (RFC 5869).
/// `salt`: the random numbers of both sides. `info`: the purpose.
Digest DeriveKey(std::string_view secret, std::string_view salt, std::string_view info);
/// Compares in constant time: the duration does not depend on where the digests differ.
bool AreSame(const Digest& a, const Digest& b);

}  // namespace tony::collective
