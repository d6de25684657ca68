// Divides a vector into one chunk for each rank, and chunks into pieces, for a reduction.
#pragma once

#include <cstddef>
#include <vector>

#include "collective/arithmetic/kernels.h"
#include "collective/group/switch_points.h"

namespace tony::collective {

/// Divides `count` elements of `element` bytes into `ranks` chunks of about equal size. Returns the
/// first element of each chunk, rounded down to a cache line, and then `count`.
std::vector<size_t> EvenEdges(size_t count, size_t element, int ranks);

/// The distances between neighbouring edges, times `element`.
inline std::vector<size_t> SizesOf(const std::vector<size_t>& edges, size_t element = 1) {
  std::vector<size_t> sizes(edges.size() - 1);
  for (size_t i = 0; i < sizes.size(); ++i) sizes[i] = (edges[i + 1] - edges[i]) * element;
  return sizes;
}

/// One reduction: each rank reduces its chunk of the vector for all, piece by piece. All chunks
/// have the same number of pieces.
struct NetReduction {
  /// `chunk_edges`: the first element of each rank's chunk, then the number of all elements.
  /// `element_bytes`: bytes of one element.
  NetReduction(std::vector<size_t> chunk_edges, size_t element_bytes, const SwitchPoints& points);

  /// The number of pieces that are in flight while one is reduced.
  static constexpr size_t kAhead = 3;

  struct Range {
    size_t begin;
    size_t size;
  };

  size_t bytes() const { return edges.back() * element; }
  size_t ChunkBegin(int rank) const { return edges[static_cast<size_t>(rank)] * element; }
  /// The piece's range in `rank`'s chunk, in bytes from the beginning of the vector.
  Range Piece(int rank, size_t piece) const;

  const std::vector<size_t> edges;
  const size_t element;           ///< bytes of one element
  size_t pieces = 1;              ///< of each chunk
  const std::byte* in = nullptr;  ///< the own vector
  std::byte* own = nullptr;       ///< place for the result of the own chunk
  std::byte* out = nullptr;       ///< place for the whole result; null: a reduce-scatter
  ReduceKernel reduce = nullptr;
};

}  // namespace tony::collective
