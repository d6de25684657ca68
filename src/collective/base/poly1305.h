// A MAC that is much faster than HMAC-SHA256, with a key for one message.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tony::collective {

using MacKey = std::array<uint8_t, 32>;
using MacTag = std::array<uint8_t, 16>;

/// The first half of the ChaCha20 block with this number, as a key for one message: RFC 8439, 2.6.
MacKey OneTimeKey(const MacKey& key, uint64_t number);

/// RFC 8439, 2.5. `one_time`: of no other message, or both can be forged.
MacTag Poly1305(const MacKey& one_time, const void* message, size_t bytes);

}  // namespace tony::collective
