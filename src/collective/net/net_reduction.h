// How a vector is cut for a reduction in which each rank has its part.
#pragma once

#include <cstddef>
#include <vector>

#include "collective/arithmetic/kernels.h"
#include "collective/group/switch_points.h"

namespace tony::collective {

/// Where the chunks of `count` elements begin, of equal size and on cache lines as far as that
/// goes, and the end.
std::vector<size_t> EvenEdges(size_t count, size_t element, int ranks);

/// What lies between edges, times `element`.
inline std::vector<size_t> SizesOf(const std::vector<size_t>& edges, size_t element = 1) {
  std::vector<size_t> sizes(edges.size() - 1);
  for (size_t i = 0; i < sizes.size(); ++i) sizes[i] = (edges[i + 1] - edges[i]) * element;
  return sizes;
}

/// Each rank has a chunk, which it reduces for all in pieces; all chunks have as many pieces.
struct NetReduction {
  /// `edges`: where chunks begin, in elements, and the end.
  NetReduction(std::vector<size_t> chunk_edges, size_t element_bytes, const SwitchPoints& points);

  /// Pieces that are on their way while one is reduced.
  static constexpr size_t kAhead = 3;

  struct Range {
    size_t begin;
    size_t size;
  };

  size_t bytes() const { return edges.back() * element; }
  size_t ChunkBegin(int rank) const { return edges[static_cast<size_t>(rank)] * element; }
  /// Of a rank's chunk, in bytes from the vector's beginning.
  Range Piece(int rank, size_t piece) const;

  const std::vector<size_t> edges;
  const size_t element;  ///< bytes of one
  size_t pieces = 1;
  const std::byte* in = nullptr;
  std::byte* own = nullptr;  ///< for the own chunk's result
  std::byte* out = nullptr;  ///< for all; none: nobody wants others' chunks
  ReduceKernel reduce = nullptr;
};

}  // namespace tony::collective
