// Allocates buffers in memory that other processes have mapped, too.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

namespace tony::collective {

/// An allocator for one memory mapping. A page takes physical memory from its first use until the
/// buffers on it are freed, as with malloc(). Thread safe.
class Arena {
 public:
  /// `begin`, `bytes`: a shared mapping of whole pages, which need not be present yet. `memory`:
  /// owns the mapping; the arena keeps it alive.
  Arena(std::shared_ptr<void> memory, std::byte* begin, size_t bytes);
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Allocates a buffer that starts on a cache line; 0 bytes count as 1. Null: no room is left.
  void* Allocate(size_t bytes);
  /// Frees a buffer from Allocate(); null is allowed. False: Allocate() has not returned `data`.
  bool Free(void* data);
  /// The offset of `data` in the mapping, if all of its bytes lie in it. The addresses suffice to
  /// tell: nothing else lies in this range, so no buffer has to be looked up.
  std::optional<size_t> OffsetOf(const void* data, size_t bytes) const;

 private:
  const std::shared_ptr<void> memory_;
  std::byte* const begin_;
  const size_t bytes_;
  std::mutex mutex_;
  std::map<size_t, size_t> free_;  ///< free bytes by offset; no two entries are adjacent
  std::map<size_t, size_t> used_;  ///< used bytes by offset
};

}  // namespace tony::collective
