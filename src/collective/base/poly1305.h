// The MAC Poly1305, with a one-time key for each message; much faster than HMAC-SHA256.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tony::collective {

using MacKey = std::array<uint8_t, 32>;
using MacTag = std::array<uint8_t, 16>;

/// Derives a one-time key: the first half of the ChaCha20 block of `key` with the nonce `number`.
/// RFC 8439, 2.6.
MacKey OneTimeKey(const MacKey& key, uint64_t number);

/// The MAC of a message. RFC 8439, 2.5. `one_time`: a key of this message only; with two messages
/// under one key, both can be forged.
MacTag Poly1305(const MacKey& one_time, const void* message, size_t bytes);

}  // namespace tony::collective
