// Allreduce and reduce-scatter. Short vectors take one exchange through the slots; long ones take a
// pipelined reduce-scatter + all-gather, in pieces through the windows.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "collective/arithmetic/copy.h"
#include "collective/host/host_group.h"

namespace tony::collective {
namespace {

/// One allreduce of a long vector.
class PiecewiseAllReduce {
 public:
  PiecewiseAllReduce(HostPipe& pipe, const Fusion& fusion, ReduceKernel reduce, Deadline deadline)
      : pipe_(pipe),
        fusion_(fusion),
        reduce_(reduce),
        stream_(fusion.bytes() >= kStreamBytes && !fusion.in_place()),
        first_(pipe.next_piece()),
        deadline_(deadline) {}

  /// 1. Each rank copies the chunks of its vector that others reduce into its window.
  /// 2. Each rank reduces its own chunk, from its vector and the others' windows, into its own
  /// window.
  /// 3. Each rank fetches the others' chunks from their windows.
  /// A pipeline of three pieces: piece n is copied, then piece n - 1 reduced, then piece n - 2
  /// fetched. So a rank need not wait for one that is slightly slower.
  Status Run() {
    const auto pieces = static_cast<uint32_t>(PartsOf(fusion_.bytes(), kPieceBytes));
    for (uint32_t step = 0; step < pieces + 2; ++step) {
      Status done;
      if (step < pieces) done = CopyIn(first_ + step);
      if (done.ok() && step >= 1 && step <= pieces) done = ReduceOwnChunk(first_ + step - 1);
      if (done.ok() && step >= 2) done = FetchOthers(first_ + step - 2);
      if (!done.ok()) return done;
    }
    pipe_.FinishPieces(pieces);
    return {};
  }

 private:
  /// The piece's range in the vector, in bytes.
  Part Piece(uint32_t piece) const {
    return Part::Of(fusion_.bytes(), kPieceBytes, piece - first_);
  }
  /// The part of a piece that `rank` reduces, relative to the piece: whole cache lines.
  Part Chunk(size_t piece_bytes, int rank) const {
    return Part::OfRank(piece_bytes, rank, pipe_.ranks());
  }

  /// The own chunk is left out: only this rank reads it, and it reads it where it lies. Its place
  /// in the window is used for the result.
  Status CopyIn(uint32_t piece) {
    const auto [begin, size] = Piece(piece);
    const Part own = Chunk(size, pipe_.rank());
    const size_t behind = own.begin + own.size;
    const auto write = [&, begin = begin, size = size](std::byte* window) {
      fusion_.Gather(begin, own.begin, window);
      fusion_.Gather(begin + behind, size - behind, window + behind);
    };
    return pipe_.Fill(piece, write, deadline_);
  }

  Status ReduceOwnChunk(uint32_t piece) {
    Status there = pipe_.UntilOthers(&RankLine::copied, piece + 1, deadline_);
    if (!there.ok()) return there;
    const auto [begin, size] = Piece(piece);
    const Part chunk = Chunk(size, pipe_.rank());
    // Blocks stay in the first cache while they are reduced and copied to the own result.
    alignas(kCacheLine) std::array<std::byte, kBlockBytes> gathered;
    for (size_t done = 0; done < chunk.size; done += kBlockBytes) {
      const size_t block = std::min(kBlockBytes, chunk.size - done);
      const size_t place = chunk.begin + done;
      const std::byte* own = fusion_.Find(begin + place, block);
      if (own == nullptr) {
        fusion_.Gather(begin + place, block, gathered.data());
        own = gathered.data();
      }
      std::byte* const result = pipe_.Window(pipe_.rank(), piece) + place;
      const auto of = [&](int rank) -> const std::byte* {
        return rank == pipe_.rank() ? own : pipe_.Window(rank, piece) + place;
      };
      ReduceAll(reduce_, result, of, pipe_.ranks(), block / fusion_.element());
      fusion_.Scatter(begin + place, block, result, stream_);
    }
    pipe_.Publish(&RankLine::reduced, piece + 1);
    return {};
  }

  Status FetchOthers(uint32_t piece) {
    const auto [begin, size] = Piece(piece);
    const auto read = [&, begin = begin, size = size](int rank, const std::byte* window) {
      const Part chunk = Chunk(size, rank);
      fusion_.Scatter(begin + chunk.begin, chunk.size, window + chunk.begin, stream_);
    };
    Status done = pipe_.ReadOthers(&RankLine::reduced, piece, read, deadline_);
    if (done.ok()) pipe_.Publish(&RankLine::fetched, piece + 1);
    return done;
  }

  HostPipe& pipe_;
  const Fusion& fusion_;
  const ReduceKernel reduce_;
  const bool stream_;  ///< results are written past the caches
  const uint32_t first_;
  const Deadline deadline_;
};

/// The arguments of one reduce-scatter.
struct Scattered {
  const std::byte* in;
  std::byte* out;
  const std::vector<size_t>& counts;  ///< by rank: elements of its result
  std::vector<size_t> edges;          ///< by rank: where its part of `in` begins; then the end
  size_t element;                     ///< bytes of an element
  ReduceKernel reduce;
};

/// The reduce-scatter of a vector that fits into a slot: one exchange. The sum is made while the
/// slots come in. The errors are those of HostWait::Until.
Status ReduceScatterSlots(HostPipe& pipe, const Scattered& vector, Deadline deadline) {
  const auto me = static_cast<size_t>(pipe.rank());
  const std::byte* sum = nullptr;
  const auto write = [&](std::byte* slot) { std::memcpy(slot, vector.in, vector.edges.back()); };
  const auto read = [&](int /*rank*/, const std::byte* slot) {
    const std::byte* const own = slot + vector.edges[me];
    if (sum != nullptr) vector.reduce(vector.out, sum, own, vector.counts[me]);
    sum = sum == nullptr ? own : vector.out;
  };
  return pipe.Exchange(write, read, deadline);
}

/// The reduce-scatter of a long vector, through the windows. Each piece is divided into one part
/// for each rank, of equal size. The part of a rank carries the next bytes of the elements that
/// this rank reduces. The errors are those of HostWait::Until.
Status ReduceScatterPieces(HostPipe& pipe, const Kernels& kernels, const Scattered& vector,
                           Deadline deadline) {
  const auto me = static_cast<size_t>(pipe.rank());
  const std::vector<size_t>& counts = vector.counts;
  const size_t part = PartBytes(kPieceBytes, pipe.ranks());
  const size_t most = *std::max_element(counts.begin(), counts.end()) * vector.element;
  const auto fill = [&](std::byte* window, uint32_t step) {
    for (size_t r = 0; r < counts.size(); ++r) {
      if (r == me) continue;
      const auto [begin, size] = Part::Of(counts[r] * vector.element, part, step);
      Copy(kernels, window + r * part, vector.in + vector.edges[r] + begin, size, false);
    }
  };
  const auto take = [&](uint32_t piece, uint32_t step) -> Status {
    Status there = pipe.UntilOthers(&RankLine::copied, piece + 1, deadline);
    const auto [begin, size] = Part::Of(counts[me] * vector.element, part, step);
    for (size_t done = 0; there.ok() && done < size; done += kBlockBytes) {
      const auto of = [&, begin = begin](int r) -> const std::byte* {
        return r == pipe.rank() ? vector.in + vector.edges[me] + begin + done
                                : pipe.Window(r, piece) + me * part + done;
      };
      const size_t block = std::min(kBlockBytes, size - done);
      ReduceAll(vector.reduce, vector.out + begin + done, of, pipe.ranks(), block / vector.element);
    }
    return there;
  };
  return pipe.InPieces(static_cast<uint32_t>(PartsOf(most, part)), fill, take, deadline);
}

}  // namespace

Status HostGroup::AllReduce(const void* in, void* out, size_t count, DataType type, ReduceOp op,
                            Deadline deadline) {
  const size_t bytes = count * SizeOf(type);
  const bool is_tiny = bytes * static_cast<size_t>(ranks() - 1) <= kTinyBytes;
  if (!is_tiny || ranks() == 1) {
    return AllReduceFused(Fusion({.in = in, .out = out, .count = count}, type), op, deadline);
  }
  if (!failure_.ok()) return failure_;
  if (bytes == 0) return {};
  // The fast path for tiny vectors: no Fusion, and the sum is made while the slots come in.
  const ReduceKernel reduce = kernels_.Reduce(type, op);
  auto* const to = static_cast<std::byte*>(out);
  const std::byte* sum = nullptr;
  const auto write = [&](std::byte* slot) { std::memcpy(slot, in, bytes); };
  const auto read = [&](int /*rank*/, const std::byte* slot) {
    if (sum != nullptr) reduce(to, sum, slot, count);
    sum = sum == nullptr ? slot : to;
  };
  return Keep(pipe_.Exchange(write, read, deadline));
}

/// The choice of the algorithm depends only on what all ranks know alike: the number and size of
/// the tensors, and the offers, which all ranks have exchanged.
Status HostGroup::AllReduceFused(const Fusion& fusion, ReduceOp op, Deadline deadline) {
  if (!failure_.ok()) return failure_;
  if (fusion.bytes() == 0) return {};
  if (ranks() == 1) {
    alignas(kCacheLine) std::array<std::byte, kBlockBytes> block;
    for (size_t at = 0; at < fusion.bytes(); at += kBlockBytes) {
      const size_t size = std::min(kBlockBytes, fusion.bytes() - at);
      fusion.Gather(at, size, block.data());
      fusion.Scatter(at, size, block.data(), false);
    }
    return {};
  }
  const ReduceKernel reduce = kernels_.Reduce(fusion.type(), op);
  // The bytes that a rank reads if vectors are exchanged whole: all other ranks' vectors, where in
  // pieces it reads only a part of them and of the result.
  const size_t read = fusion.bytes() * static_cast<size_t>(ranks() - 1);
  if (read <= kTinyBytes) return Keep(ReduceSlots(fusion, reduce, deadline));
  const bool is_short = read <= kExchangeBytes;
  if (fusion.tensors().size() == 1) {
    Status offered = OfferVectors(fusion, is_short, deadline);
    if (!offered.ok()) return Keep(offered);
    if (AllOffer()) return Keep(ReduceWhereTheyLie(fusion, reduce, deadline));
    if (is_short && NoneOffers()) {
      AddUp(fusion, reduce);
      return {};
    }
    // Some ranks offer and some do not. Those that offer have put no copy into their slot, so the
    // vectors are exchanged once more, without offers.
  }
  if (is_short) return Keep(ReduceSlots(fusion, reduce, deadline));
  return Keep(PiecewiseAllReduce(pipe_, fusion, reduce, deadline).Run());
}

Status HostGroup::ReduceSlots(const Fusion& fusion, ReduceKernel reduce, Deadline deadline) {
  const auto write = [&](std::byte* slot) { fusion.Gather(0, fusion.bytes(), slot); };
  const auto read = [&](int rank, const std::byte* slot) {
    copies_[static_cast<size_t>(rank)] = slot;
  };
  Status done = pipe_.Exchange(write, read, deadline);
  if (done.ok()) AddUp(fusion, reduce);
  return done;
}

void HostGroup::AddUp(const Fusion& fusion, ReduceKernel reduce) const {
  alignas(kCacheLine) std::array<std::byte, kExchangeBytes> sum;
  const auto of = [&](int rank) { return copies_[static_cast<size_t>(rank)]; };
  ReduceAll(reduce, sum.data(), of, ranks(), fusion.count());
  fusion.Scatter(0, fusion.bytes(), sum.data(), false);
}

Status HostGroup::ReduceScatter(const void* in, void* out, const std::vector<size_t>& counts,
                                DataType type, ReduceOp op, Deadline deadline) {
  if (!failure_.ok()) return failure_;
  if (Status check = CheckList("counts", counts.size()); !check.ok()) return check;
  const size_t element = SizeOf(type);
  std::vector<size_t> edges = EdgesOf(counts);
  for (size_t& edge : edges) edge *= element;
  const size_t bytes = edges.back();
  if (ranks() == 1 && bytes > 0) std::memcpy(out, in, bytes);
  if (ranks() == 1 || bytes == 0) return {};
  const Scattered vector = {.in = static_cast<const std::byte*>(in),
                            .out = static_cast<std::byte*>(out),
                            .counts = counts,
                            .edges = std::move(edges),
                            .element = element,
                            .reduce = kernels_.Reduce(type, op)};
  if (bytes <= kSlotBytes) return Keep(ReduceScatterSlots(pipe_, vector, deadline));
  return Keep(ReduceScatterPieces(pipe_, kernels_, vector, deadline));
}

}  // namespace tony::collective
