// Copies and reductions of several ranks' data, and the division of data into parts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <vector>

#include "collective/arithmetic/kernels.h"

namespace tony::collective {

/// The size from which results are written past the caches, unless they replace data that has just
/// been read: so large a result is out of the cache again before it is used.
inline constexpr size_t kStreamBytes = size_t{8} << 20;

inline constexpr size_t kCacheLine = 64;
/// A block that stays in the first-level cache while it is reduced and copied on.
inline constexpr size_t kBlockBytes = size_t{16} << 10;

/// Copies `bytes` bytes. `stream`: past the caches. The pointers may be null if `bytes` is 0.
inline void Copy(const Kernels& kernels, std::byte* out, const std::byte* in, size_t bytes,
                 bool stream) {
  if (bytes == 0) return;
  stream ? kernels.stream_copy(out, in, bytes) : static_cast<void>(std::memcpy(out, in, bytes));
}

/// Copies `bytes` bytes that may overlap `out`, or lie there already. The pointers may be null if
/// `bytes` is 0.
inline void CopyIfApart(std::byte* out, const std::byte* in, size_t bytes) {
  if (bytes > 0 && out != in) std::memmove(out, in, bytes);
}

/// Reduces `of(rank)` of all ranks, in ascending order. Intermediate results go to `sum`, which may
/// be `of(0)`. `result` is written last, so it may be any of the vectors.
template <typename Of>
void ReduceAll(ReduceKernel reduce, std::byte* result, std::byte* sum, const Of& of, int ranks,
               size_t count) {
  const std::byte* before = of(0);
  for (int rank = 1; rank < ranks; ++rank) {
    std::byte* const to = rank + 1 == ranks ? result : sum;
    reduce(to, before, of(rank), count);
    before = to;
  }
}

/// Reduces with `result` also for intermediate results. `result` may be one of the first two
/// vectors, but none of the others.
template <typename Of>
void ReduceAll(ReduceKernel reduce, std::byte* result, const Of& of, int ranks, size_t count) {
  ReduceAll(reduce, result, result, of, ranks, count);
}

/// A part of a vector. Of(): the `step`-th part, in parts of `part` bytes each; empty behind the
/// vector's end.
struct Part {
  size_t begin;
  size_t size;

  /// The part of `size` bytes that `rank` reduces: whole cache lines, and for the last rank also
  /// the rest.
  static Part OfRank(size_t size, int rank, int ranks) {
    const auto edge = [&](int part) {
      if (part == ranks) return size;
      const auto all = static_cast<size_t>(ranks);
      return size / kCacheLine * static_cast<size_t>(part) / all * kCacheLine;
    };
    return {edge(rank), edge(rank + 1) - edge(rank)};
  }
  static Part Of(size_t size, size_t part, size_t step) {
    const size_t begin = std::min(size, step * part);
    return {begin, std::min(part, size - begin)};
  }
};

/// The number of parts of `part` bytes that `size` bytes take.
inline size_t PartsOf(size_t size, size_t part) { return (size + part - 1) / part; }

/// The size of one rank's part of a piece that has a part for each rank: whole cache lines.
inline size_t PartBytes(size_t piece, int ranks) {
  return piece / static_cast<size_t>(ranks) / kCacheLine * kCacheLine;
}

/// The offset of each rank's part, and the total at the end.
inline std::vector<size_t> EdgesOf(const std::vector<size_t>& sizes) {
  std::vector<size_t> edges(sizes.size() + 1);
  std::partial_sum(sizes.begin(), sizes.end(), edges.begin() + 1);
  return edges;
}

}  // namespace tony::collective
