// A queue of transfers for one direction of a data connection.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "collective/base/frame_mac.h"

namespace tony::collective {

/// Sends or receives units of bytes, one after the other. With a key, the MAC of each unit follows
/// it (frame_mac.h); a unit that does not fit its MAC is never done. Not thread safe.
class NetLane {
 public:
  /// Turns MACs on. It is called before the first unit.
  void Authenticate(const MacKey& key) { mac_.emplace(key); }

  /// Queues a unit of `bytes` bytes at `at`. Both ends queue units of the same sizes.
  void Add(std::byte* at, size_t bytes) { units_.push_back({at, bytes, bytes}); }
  bool HasWork() const { return next_ < units_.size(); }
  /// The number of units done since the beginning.
  uint64_t done() const { return done_; }
  /// Drops all queued units.
  void Forget();

  /// Moves as much of the next unit as `socket` takes, or has, without blocking. False: nothing was
  /// moved.
  bool Send(int socket);
  bool Receive(int socket);

  /// False after a call that would have blocked, until the caller sets it on an event.
  bool ready = true;
  /// The other side has closed the connection, or it has failed.
  bool closed() const { return closed_; }
  /// A unit did not fit its MAC. Nothing more is received then.
  bool changed() const { return changed_; }

 private:
  struct Unit {
    std::byte* at;  ///< the next byte to move
    size_t left;    ///< bytes still to move
    size_t size;    ///< bytes of the whole unit; those already moved lie before `at`
  };

  bool SendWithMac(int socket);
  bool ReceiveWithMac(int socket);
  /// Accounts for the result `size` of a system call on the next unit. False: nothing was moved.
  bool Moved(ssize_t size, bool sending);
  void Finish();

  std::vector<Unit> units_;
  size_t next_ = 0;  ///< index of the next unit in `units_`
  uint64_t done_ = 0;
  bool closed_ = false;
  bool changed_ = false;
  std::optional<FrameMac> mac_;
  MacTag tag_{};         ///< MAC of the next unit
  size_t tag_left_ = 0;  ///< bytes of `tag_` still to move; 0: the unit has not begun
};

}  // namespace tony::collective
