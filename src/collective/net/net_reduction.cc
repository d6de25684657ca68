// Chunks begin on cache lines. Pieces are small enough that those in flight to one rank fit into
// SwitchPoints::window_bytes: a switch would drop more.
#include "collective/net/net_reduction.h"

#include <algorithm>
#include <utility>

#include "collective/arithmetic/copy.h"
#include "collective/net/net_mesh.h"

namespace tony::collective {
namespace {

constexpr size_t kLeastPiece = size_t{16} << 10;

size_t PieceBytes(const SwitchPoints& points, size_t ranks) {
  const size_t room = points.window_bytes / ((ranks - 1) * (NetReduction::kAhead + 1));
  return std::min({points.piece_bytes, std::max(room, kLeastPiece), NetMesh::kUnitBytes});
}

}  // namespace

std::vector<size_t> EvenEdges(size_t count, size_t element, int ranks) {
  const size_t line = std::max<size_t>(kCacheLine / element, 1);
  std::vector<size_t> edges;
  for (size_t part = 0; part < static_cast<size_t>(ranks); ++part) {
    // count * part / parts, without the product that may overflow.
    const auto parts = static_cast<size_t>(ranks);
    const size_t edge = count / parts * part + count % parts * part / parts;
    edges.push_back(edge / line * line);
  }
  edges.push_back(count);
  return edges;
}

NetReduction::NetReduction(std::vector<size_t> chunk_edges, size_t element_bytes,
                           const SwitchPoints& points)
    : edges(std::move(chunk_edges)), element(element_bytes) {
  const size_t ranks = edges.size() - 1;
  if (ranks < 2) return;
  const size_t most = PieceBytes(points, ranks) / element;
  for (size_t rank = 0; rank < ranks; ++rank) {
    pieces = std::max(pieces, (edges[rank + 1] - edges[rank] + most - 1) / most);
  }
}

NetReduction::Range NetReduction::Piece(int rank, size_t piece) const {
  const size_t begin = edges[static_cast<size_t>(rank)];
  const size_t count = edges[static_cast<size_t>(rank) + 1] - begin;
  const auto edge = [&](size_t at) { return count / pieces * at + count % pieces * at / pieces; };
  return {(begin + edge(piece)) * element, (edge(piece + 1) - edge(piece)) * element};
}

}  // namespace tony::collective
