// The MACs of what goes through one connection in one direction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "collective/base/poly1305.h"

namespace tony::collective {

/// Keys that only the two ends of one connection know.
struct ConnectionKeys {
  MacKey send{};
  MacKey receive{};
};

/// Frames are counted, so one that is left out, sent again or put in another's place does not fit.
/// How long a frame is, both sides know. Not thread safe.
class FrameMac {
 public:
  static constexpr size_t kBytes = sizeof(MacTag);

  explicit FrameMac(const MacKey& key) : key_(key) {}

  /// Of the next frame.
  MacTag Next(const void* frame, size_t bytes) {
    return Poly1305(OneTimeKey(key_, count_++), frame, bytes);
  }
  /// Whether the next frame has this one, which lies at `tag`.
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

/// Both directions of a connection, as one of its ends has them.
struct ConnectionMac {
  explicit ConnectionMac(const ConnectionKeys& keys) : send(keys.send), receive(keys.receive) {}
  FrameMac send;
  FrameMac receive;
};

}  // namespace tony::collective
