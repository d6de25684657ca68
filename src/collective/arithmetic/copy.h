// Copies and sums of several ranks' data, and the parts in which they go.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <vector>

#include "collective/arithmetic/kernels.h"

namespace tony::collective {

/// From here on results go past the caches, unless they replace what has just been read: nobody
/// finds them there any more when they are asked for.
inline constexpr size_t kStreamBytes = size_t{8} << 20;

inline constexpr size_t kCacheLine = 64;
/// What stays in a processor's first cache while it is reduced and copied on.
inline constexpr size_t kBlockBytes = size_t{16} << 10;

/// `stream`: past the caches. Of 0 bytes pointers may be null.
inline void Copy(const Kernels& kernels, std::byte* out, const std::byte* in, size_t bytes,
                 bool stream) {
  if (bytes == 0) return;
  stream ? kernels.stream_copy(out, in, bytes) : static_cast<void>(std::memcpy(out, in, bytes));
}

/// What may overlap, or already be where it belongs. Of 0 bytes pointers may be null.
inline void CopyIfApart(std::byte* out, const std::byte* in, size_t bytes) {
  if (bytes > 0 && out != in) std::memmove(out, in, bytes);
}

/// `of(rank)` of all ranks, one after the other. What is between goes to `sum`, which may be
/// `of(0)`; `result` is written last, so that it may be any of them.
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

/// The same where `result` is none of them but the first two, and takes what is between.
template <typename Of>
void ReduceAll(ReduceKernel reduce, std::byte* result, const Of& of, int ranks, size_t count) {
  ReduceAll(reduce, result, result, of, ranks, count);
}

/// What is in `size` bytes' `step`-th part of `part` bytes each: none behind the end.
struct Part {
  size_t begin;
  size_t size;

  /// What `rank` reduces of `size` bytes: whole cache lines.
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

/// How many parts it takes.
inline size_t PartsOf(size_t size, size_t part) { return (size + part - 1) / part; }

/// Of a piece, when there is a part of it for each rank: whole cache lines.
inline size_t PartBytes(size_t piece, int ranks) {
  return piece / static_cast<size_t>(ranks) / kCacheLine * kCacheLine;
}

/// Where each rank's part begins, and at the end how much there is.
inline std::vector<size_t> EdgesOf(const std::vector<size_t>& sizes) {
  std::vector<size_t> edges(sizes.size() + 1);
  std::partial_sum(sizes.begin(), sizes.end(), edges.begin() + 1);
  return edges;
}

}  // namespace tony::collective
