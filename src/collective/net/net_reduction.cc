// Each rank reduces its chunk, while the next pieces come and the results of the last ones go.
#include "collective/net/net_reduction.h"

#include <algorithm>
#include <utility>

#include "collective/copy.h"

namespace tony::collective {
namespace {

/// Pieces that are on their way while one is reduced.
constexpr size_t kAhead = 3;
constexpr size_t kLeastPiece = size_t{16} << 10;

size_t PieceBytes(const SwitchPoints& points, size_t ranks) {
  const size_t room = points.window_bytes / ((ranks - 1) * (kAhead + 1));
  return std::min({points.piece_bytes, std::max(room, kLeastPiece), NetMesh::kUnitBytes});
}

}  // namespace

std::vector<size_t> EvenEdges(size_t count, size_t element, int ranks) {
  const size_t line = std::max<size_t>(kCacheLine / element, 1);
  std::vector<size_t> edges;
  for (size_t part = 0; part < static_cast<size_t>(ranks); ++part) {
    // Not count * part, which may be too large.
    const auto parts = static_cast<size_t>(ranks);
    const size_t edge = count / parts * part + count % parts * part / parts;
    edges.push_back(edge / line * line);
  }
  edges.push_back(count);
  return edges;
}

NetGroup::Reduction::Reduction(std::vector<size_t> chunk_edges, size_t element_bytes,
                               const SwitchPoints& points)
    : edges(std::move(chunk_edges)), element(element_bytes) {
  const size_t ranks = edges.size() - 1;
  if (ranks < 2) return;
  const size_t most = PieceBytes(points, ranks) / element;
  for (size_t rank = 0; rank < ranks; ++rank) {
    pieces = std::max(pieces, (edges[rank + 1] - edges[rank] + most - 1) / most);
  }
}

NetGroup::Reduction::Range NetGroup::Reduction::Piece(int rank, size_t piece) const {
  const size_t begin = edges[static_cast<size_t>(rank)];
  const size_t count = edges[static_cast<size_t>(rank) + 1] - begin;
  const auto edge = [&](size_t at) { return count / pieces * at + count % pieces * at / pieces; };
  return {(begin + edge(piece)) * element, (edge(piece + 1) - edge(piece)) * element};
}

/// 1. Each sends of its vector to each other rank that one's chunk.
/// 2. Each reduces its own when all have sent it.
/// 3. Each sends the result to all, if they want it.
/// Both sides of a connection know the order: a piece to be reduced, then the result of an earlier
/// one.
Status NetGroup::ReduceInPieces(const Reduction& work, Deadline deadline) {
  size_t slot = 0;
  for (size_t piece = 0; piece < work.pieces; ++piece) {
    slot = std::max(slot, work.Piece(rank_, piece).size);
  }
  scratch_.Take(slot * members_.size() * (kAhead + 1));
  std::vector<NetMesh::Ticket> coming((kAhead + 1) * members_.size());
  const auto ticket = [&](int rank, size_t piece) -> NetMesh::Ticket& {
    return coming[piece % (kAhead + 1) * members_.size() + static_cast<size_t>(rank)];
  };
  for (size_t step = 0; step < work.pieces + kAhead; ++step) {
    if (step < work.pieces) {
      ForOthers([&](int rank) {
        const auto [begin, size] = work.Piece(rank, step);
        Send(rank, work.in + begin, size);
        std::byte* place = SlotOf(rank, step, slot);
        ticket(rank, step) = Receive(rank, place, work.Piece(rank_, step).size);
      });
    }
    if (step < kAhead) continue;
    const size_t piece = step - kAhead;
    for (int turn = 1; turn < ranks(); ++turn) {
      const int rank = (rank_ + turn) % ranks();
      if (Status came = mesh_->Until(ticket(rank, piece), deadline); !came.ok()) return came;
    }
    ReducePiece(work, piece, slot);
    if (work.out == nullptr) continue;
    const auto own = work.Piece(rank_, piece);
    ForOthers([&](int rank) {
      const auto [begin, size] = work.Piece(rank, piece);
      Send(rank, work.out + own.begin, own.size);
      Receive(rank, work.out + begin, size);
    });
  }
  return mesh_->Finish(deadline);
}

std::byte* NetGroup::SlotOf(int rank, size_t piece, size_t bytes) {
  const size_t place = piece % (kAhead + 1) * members_.size() + static_cast<size_t>(rank);
  return scratch_.data() + place * bytes;
}

void NetGroup::ReducePiece(const Reduction& work, size_t piece, size_t slot_bytes) {
  const auto [begin, size] = work.Piece(rank_, piece);
  for (size_t done = 0; done < size; done += kBlockBytes) {
    const size_t count = std::min(kBlockBytes, size - done) / work.element;
    std::byte* result = work.own + (begin - work.ChunkBegin(rank_)) + done;
    const auto of = [&, first = begin](int rank) -> const std::byte* {
      return rank == rank_ ? work.in + first + done : SlotOf(rank, piece, slot_bytes) + done;
    };
    // The own part may lie where the result is to be.
    std::byte* const sum = rank_ == 0 ? result : SlotOf(0, piece, slot_bytes) + done;
    ReduceAll(work.reduce, result, sum, of, ranks(), count);
  }
}

}  // namespace tony::collective
