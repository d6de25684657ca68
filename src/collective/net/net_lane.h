// One direction of a connection for data.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "collective/base/frame_mac.h"

namespace tony::collective {

/// Bytes that are to be sent, or received, in units, one after the other. With a key the MAC of
/// each unit follows it (frame_mac.h); a unit that does not fit its MAC is never done. Not thread
/// safe.
class NetLane {
 public:
  /// Before the first unit.
  void Authenticate(const MacKey& key) { mac_.emplace(key); }

  /// What is to be moved next. Both ends say the same sizes.
  void Add(std::byte* at, size_t bytes) { units_.push_back({at, bytes, bytes}); }
  bool HasWork() const { return next_ < units_.size(); }
  /// Units, since the beginning.
  uint64_t done() const { return done_; }
  /// What was to be moved.
  void Forget();

  /// As much as `socket` takes, or has, of the unit that is next. False: nothing.
  bool Send(int socket);
  bool Receive(int socket);

  /// As far as is known, something can be moved.
  bool ready = true;
  /// By the other side.
  bool closed() const { return closed_; }
  /// A unit did not fit its MAC: nothing more is moved.
  bool changed() const { return changed_; }

 private:
  struct Unit {
    std::byte* at;
    size_t left;
    size_t size;  ///< with what has been moved, which lies before `at`
  };

  bool SendWithMac(int socket);
  bool ReceiveWithMac(int socket);
  /// What a system call has moved of the next unit, or why it has moved nothing.
  bool Moved(ssize_t size, bool sending);
  void Finish();

  std::vector<Unit> units_;
  size_t next_ = 0;  ///< in `units_`
  uint64_t done_ = 0;
  bool closed_ = false;
  bool changed_ = false;
  // Of the unit that is next:
  std::optional<FrameMac> mac_;
  MacTag tag_{};
  size_t tag_left_ = 0;  ///< to be moved; 0: the unit has not begun
};

}  // namespace tony::collective
