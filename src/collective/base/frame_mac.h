// MACs for the frames that go through one connection in one direction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "collective/base/poly1305.h"

namespace tony::collective {

/// The keys of one connection, one for each direction; only its two ends know them.
struct ConnectionKeys {
  MacKey send{};
  MacKey receive{};
};

/// Makes or checks the MACs of consecutive frames. Each frame's key depends on its number, so a
/// frame that is left out, repeated or moved does not fit. Both sides know the length of each
/// frame. Not thread safe.
class FrameMac {
 public:
  static constexpr size_t kBytes = sizeof(MacTag);

  explicit FrameMac(const MacKey& key) : key_(key) {}

  /// The MAC of the next frame.
  MacTag Next(const void* frame, size_t bytes) {
    return Poly1305(OneTimeKey(key_, count_++), frame, bytes);
  }
  /// Whether `tag` points to the MAC of the next frame. The comparison takes the same time wherever
  /// the MACs differ.
  bool Check(const void* frame, size_t bytes, const void* tag) {
    const MacTag right = Next(frame, bytes);
    unsigned different = 0;
    for (size_t i = 0; i < kBytes; ++i) {
      different |= static_cast<unsigned>(right[i] ^ static_cast<const uint8_t*>(tag)[i]);
    }
    return different == 0;
  }

 private:
  const MacKey key_;
  uint64_t count_ = 0;
};

/// Both directions of a connection, as one of its ends sees them.
struct ConnectionMac {
  explicit ConnectionMac(const ConnectionKeys& keys) : send(keys.send), receive(keys.receive) {}
  FrameMac send;
  FrameMac receive;
};

}  // namespace tony::collective
