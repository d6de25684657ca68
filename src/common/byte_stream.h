// A connection that carries bytes in both directions and never blocks: plain, or encrypted.
#pragma once

#include <cstddef>

namespace tony {

/// The outcome of one read or write. Plain data.
struct IoResult {
  enum class State {
    kMoved,       ///< `bytes` bytes, at least one
    kWantsRead,   ///< nothing now; again when the descriptor is readable
    kWantsWrite,  ///< nothing now; again when the descriptor is writable
    kEnd,         ///< the peer sends nothing more; from Read() only
    kBroken,      ///< the connection is lost
  };
  State state = State::kBroken;
  size_t bytes = 0;
};

/// Not thread safe: owned by an event loop.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  /// Reads at most `size` bytes, which is not 0, into `data`.
  virtual IoResult Read(char* data, size_t size) = 0;
  /// Writes at most `size` bytes, which is not 0. After kWantsRead or kWantsWrite the next call
  /// must begin with the same bytes.
  virtual IoResult Write(const char* data, size_t size) = 0;
  /// Tells the peer that nothing more will come.
  virtual void EndWriting() = 0;
  /// Whether Read() has something to return although the descriptor may not be readable.
  virtual bool buffered() const { return false; }
  /// The descriptor to watch; owned by the stream.
  virtual int fd() const = 0;
};

}  // namespace tony
