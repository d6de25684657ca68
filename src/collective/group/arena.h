// Buffers in memory that other processes have mapped too.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

namespace tony::collective {

/// Hands out parts of a memory. A page of it takes memory from its first use
/// until what lies there is freed, as with malloc(). Thread safe.
class Arena {
 public:
  /// Of a shared mapping of whole pages, whose pages need not be there; `memory` keeps it.
  Arena(std::shared_ptr<void> memory, std::byte* begin, size_t bytes);
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// On a cache line's start, of one byte at least. Null: no room is left.
  void* Allocate(size_t bytes);
  /// What Allocate() has returned; null is nothing. False: it is not one of ours.
  bool Free(void* data);
  /// Where `data` lies, if all of its bytes are in the memory. Nobody else has anything at these
  /// addresses, so there is nothing to look up.
  std::optional<size_t> OffsetOf(const void* data, size_t bytes) const;

 private:
  const std::shared_ptr<void> memory_;
  std::byte* const begin_;
  const size_t bytes_;
  std::mutex mutex_;
  std::map<size_t, size_t> free_;  ///< bytes by offset; no two touch
  std::map<size_t, size_t> used_;  ///< bytes by offset
};

}  // namespace tony::collective
