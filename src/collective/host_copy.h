// Copies of the ranks of a host, and the parts in which they go.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <vector>

#include "collective/kernels.h"

namespace tony::collective {

/// From here on results go past the caches, unless they replace what has just been read: nobody
/// finds them there any more when they are asked for.
inline constexpr size_t kStreamBytes = size_t{8} << 20;

/// `stream`: past the caches. Of 0 bytes pointers may be null.
inline void Copy(const Kernels& kernels, std::byte* out, const std::byte* in, size_t bytes,
                 bool stream) {
  if (bytes == 0) return;
  stream ? kernels.stream_copy(out, in, bytes) : static_cast<void>(std::memcpy(out, in, bytes));
}

/// What is in `size` bytes' `step`-th part of `part` bytes each: none behind the end.
struct Part {
  size_t begin;
  size_t size;

  static Part Of(size_t size, size_t part, size_t step) {
    const size_t begin = std::min(size, step * part);
    return {begin, std::min(part, size - begin)};
  }
};

/// How many parts it takes.
inline size_t PartsOf(size_t size, size_t part) { return (size + part - 1) / part; }

/// Of a piece, when there is a part of it for each rank: whole cache lines.
inline size_t PartBytes(size_t piece, int ranks) {
  constexpr size_t kCacheLine = 64;
  return piece / static_cast<size_t>(ranks) / kCacheLine * kCacheLine;
}

/// Where each rank's part begins, and at the end how much there is.
inline std::vector<size_t> EdgesOf(const std::vector<size_t>& sizes) {
  std::vector<size_t> edges(sizes.size() + 1);
  std::partial_sum(sizes.begin(), sizes.end(), edges.begin() + 1);
  return edges;
}

}  // namespace tony::collective
