// Anonymous shared memory (memfd) of the processes of one host; it has no name that could be left
// behind.
#pragma once

#include <cstddef>
#include <memory>

#include "collective/base/status.h"

namespace tony::collective {

/// A mapped memfd. It is not bounded by /dev/shm, and it is gone with its last user. Thread safe:
/// it does not change.
class SharedMemory {
 public:
  /// Makes memory of `bytes` bytes, all of which are allocated when this returns: if the machine or
  /// its control group has not enough, that is an error here and not a signal later. Nobody can
  /// change its size.
  /// `lazy_bytes`: size of a second part behind it, which takes memory page by page when it is
  /// used, as the rest of a program's memory does. ResourceExhausted: not enough memory, or no
  /// descriptor.
  static Result<std::unique_ptr<SharedMemory>> Create(size_t bytes, size_t lazy_bytes = 0);
  /// Maps the memory behind `descriptor`, which this object then owns. The descriptor comes from
  /// another process, whose word about the size is not trusted. The lazy bytes are mapped whole, or
  /// not at all if the memory has none or addresses are limited; size() tells.
  /// InvalidArgument: the memory has less than `bytes` bytes, or is not sealed against shrinking
  /// and growing. ResourceExhausted: not enough addresses or memory to map it.
  static Result<std::unique_ptr<SharedMemory>> Map(int descriptor, size_t bytes,
                                                   size_t lazy_bytes = 0);

  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory();

  /// Claims `part`, any number, for this process. The claim lasts until this object is destroyed or
  /// the process ends, in whatever way.
  /// ResourceExhausted: the kernel has no more locks.
  Status Claim(size_t part);
  /// Whether another process has claimed `part`. A process does not see its own claims.
  bool IsClaimed(size_t part) const;
  /// Drops the content of whole pages and gives their memory back.
  void Discard(size_t begin, size_t bytes);

  /// The descriptor, to be handed to other processes. This object keeps owning it.
  int descriptor() const { return descriptor_; }
  /// The beginning of the memory, at the start of a page.
  std::byte* data() const { return data_; }
  /// Bytes that are mapped: with the lazy bytes, or without.
  size_t size() const { return size_; }

 private:
  SharedMemory(int descriptor, std::byte* data, size_t size)
      : descriptor_(descriptor), data_(data), size_(size) {}

  const int descriptor_;
  std::byte* const data_;
  const size_t size_;
};

}  // namespace tony::collective
