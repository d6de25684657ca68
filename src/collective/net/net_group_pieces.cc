// NetGroup's pipelined reduce-scatter + all-gather: a rank reduces a piece of its chunk while the
// next pieces arrive and the results of earlier pieces are sent.
#include <algorithm>
#include <vector>

#include "collective/arithmetic/copy.h"
#include "collective/net/net_group.h"
#include "collective/net/net_reduction.h"

namespace tony::collective {

/// 1. Each rank sends every other rank that rank's chunk of its vector.
/// 2. Each rank reduces its own chunk once all others have sent theirs.
/// 3. For an allreduce, each rank sends the result of its chunk to all others.
/// Both sides of a connection queue the transfers in the same order: in each step a piece to be
/// reduced, then the result of the piece kAhead steps earlier.
Status NetGroup::ReduceInPieces(const NetReduction& work, Deadline deadline) {
  size_t slot = 0;
  for (size_t piece = 0; piece < work.pieces; ++piece) {
    slot = std::max(slot, work.Piece(rank_, piece).size);
  }
  scratch_.Take(slot * members_.size() * (NetReduction::kAhead + 1));
  std::vector<NetMesh::TransferHandle> coming((NetReduction::kAhead + 1) * members_.size());
  const auto handle = [&](int rank, size_t piece) -> NetMesh::TransferHandle& {
    return coming[piece % (NetReduction::kAhead + 1) * members_.size() + static_cast<size_t>(rank)];
  };
  for (size_t step = 0; step < work.pieces + NetReduction::kAhead; ++step) {
    if (step < work.pieces) {
      ForOthers([&](int rank) {
        const auto [begin, size] = work.Piece(rank, step);
        Send(rank, work.in + begin, size);
        std::byte* place = SlotOf(rank, step, slot);
        handle(rank, step) = Receive(rank, place, work.Piece(rank_, step).size);
      });
    }
    // The pieces between `piece` and `step` are in flight during the reduction. A slot is free
    // again after kAhead + 1 steps, when its piece has been reduced.
    if (step < NetReduction::kAhead) continue;
    const size_t piece = step - NetReduction::kAhead;
    for (int turn = 1; turn < ranks(); ++turn) {
      const int rank = (rank_ + turn) % ranks();
      if (Status came = mesh_->Until(handle(rank, piece), deadline); !came.ok()) return came;
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
  const size_t place =
      piece % (NetReduction::kAhead + 1) * members_.size() + static_cast<size_t>(rank);
  return scratch_.data() + place * bytes;
}

void NetGroup::ReducePiece(const NetReduction& work, size_t piece, size_t slot_bytes) {
  const auto [begin, size] = work.Piece(rank_, piece);
  for (size_t done = 0; done < size; done += kBlockBytes) {
    const size_t count = std::min(kBlockBytes, size - done) / work.element;
    std::byte* result = work.own + (begin - work.ChunkBegin(rank_)) + done;
    const auto of = [&, first = begin](int rank) -> const std::byte* {
      return rank == rank_ ? work.in + first + done : SlotOf(rank, piece, slot_bytes) + done;
    };
    // `in` may be `out`. Only rank 0's own part is the first operand, so only there may the
    // intermediate sum go to the result's place.
    std::byte* const sum = rank_ == 0 ? result : SlotOf(0, piece, slot_bytes) + done;
    ReduceAll(work.reduce, result, sum, of, ranks(), count);
  }
}

}  // namespace tony::collective
