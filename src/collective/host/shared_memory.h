// Memory that processes of one host share, without a name that could be left behind.
#pragma once

#include <cstddef>
#include <memory>

#include "collective/base/status.h"

namespace tony::collective {

/// A memfd: not bounded by /dev/shm, gone with its last user. Thread safe: it does not change.
class SharedMemory {
 public:
  /// All of it is there when this returns: what the machine or its control group does not have is
  /// an error here, not a signal later. Its size cannot be changed by anybody.
  /// `lazy_bytes`: after those, so many more that take memory page by page when they are used, as
  /// the rest of a program's memory does.
  /// ResourceExhausted: not so much memory, or no descriptor.
  static Result<std::unique_ptr<SharedMemory>> Create(size_t bytes, size_t lazy_bytes = 0);
  /// Takes the descriptor of another process, which may not be trusted with its size. Of the lazy
  /// bytes all are mapped or, where they are not there or addresses are limited, none: see size().
  /// InvalidArgument: it has fewer, or could be made smaller under our feet. ResourceExhausted.
  static Result<std::unique_ptr<SharedMemory>> Map(int descriptor, size_t bytes,
                                                   size_t lazy_bytes = 0);

  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory();

  /// Marks `part` of it, any number, as this process's, until it no longer has the memory: when
  /// this object goes, or the process ends, however it does. ResourceExhausted: the kernel has no
  /// more locks.
  Status Claim(size_t part);
  /// Whether another process has claimed it. A process does not see its own claims.
  bool IsClaimed(size_t part) const;
  /// Forgets what is there, whole pages, and what they take.
  void Discard(size_t begin, size_t bytes);

  /// For handing over.
  int descriptor() const { return descriptor_; }
  /// On a page's start.
  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  SharedMemory(int descriptor, std::byte* data, size_t size)
      : descriptor_(descriptor), data_(data), size_(size) {}

  const int descriptor_;
  std::byte* const data_;
  const size_t size_;
};

}  // namespace tony::collective
