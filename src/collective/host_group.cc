// Short vectors in one exchange, long ones in pieces through windows.
#include "collective/host_group.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace tony::collective {
namespace {

constexpr size_t kCacheLine = 64;
/// What stays in a processor's first cache while it is reduced and copied on.
constexpr size_t kBlockBytes = size_t{16} << 10;
/// From here on results go past the caches, unless they replace what has just been read: nobody
/// finds them there any more when they are asked for.
constexpr size_t kStreamBytes = size_t{8} << 20;

}  // namespace

/// What an operation is about.
struct HostGroup::Vector {
  const std::byte* in;
  std::byte* out;
  size_t bytes;
  size_t element;  ///< bytes of one
  ReduceKernel reduce;
  uint32_t first_piece;
  bool stream;  ///< past the caches

  struct Range {
    size_t begin;
    size_t size;
  };

  /// The piece's place in the vector, in bytes.
  Range Piece(uint32_t piece) const {
    const size_t begin = size_t{piece - first_piece} * kPieceBytes;
    return {begin, std::min(kPieceBytes, bytes - begin)};
  }
  /// The part of the piece, from its beginning, that `rank` reduces: whole cache lines.
  static Range Chunk(size_t piece_bytes, int rank, int ranks) {
    const auto edge = [&](int part) {
      return part == ranks ? piece_bytes
                           : piece_bytes * static_cast<size_t>(part) / static_cast<size_t>(ranks) /
                                 kCacheLine * kCacheLine;
    };
    return {edge(rank), edge(rank + 1) - edge(rank)};
  }
};

Result<std::unique_ptr<SharedMemory>> HostGroup::CreateMemory(int ranks) {
  return SharedMemory::Create(HostMemory::BytesFor(ranks));
}

Result<std::unique_ptr<HostGroup>> HostGroup::Join(std::shared_ptr<SharedMemory> memory, int rank,
                                                   int ranks) {
  if (rank < 0 || rank >= ranks || memory->size() < HostMemory::BytesFor(ranks)) {
    return Status(Code::kInvalidArgument, "rank " + std::to_string(rank) + " of " +
                                              std::to_string(ranks) +
                                              " has no place in this memory");
  }
  return std::unique_ptr<HostGroup>(new HostGroup(std::move(memory), rank, ranks));
}

HostGroup::HostGroup(std::shared_ptr<SharedMemory> memory, int rank, int ranks)
    : memory_(std::move(memory)),
      host_(*reinterpret_cast<HostMemory*>(memory_->data())),
      rank_(rank),
      ranks_(ranks),
      wait_(host_, ranks),
      kernels_(BestKernels()) {}

Status HostGroup::AllReduce(const void* in, void* out, size_t count, DataType type, ReduceOp op,
                            Deadline deadline) {
  if (!failure_.ok()) return failure_;
  const size_t bytes = count * SizeOf(type);
  if (ranks_ == 1 && out != in && bytes > 0) std::memcpy(out, in, bytes);
  if (ranks_ == 1 || bytes == 0) return {};
  const Vector vector = {.in = static_cast<const std::byte*>(in),
                         .out = static_cast<std::byte*>(out),
                         .bytes = bytes,
                         .element = SizeOf(type),
                         .reduce = kernels_.Reduce(type, op),
                         .first_piece = pieces_,
                         .stream = bytes >= kStreamBytes && in != out};
  // Each reads all others' then, instead of a part of them and a part of the result.
  const bool is_short = bytes * static_cast<size_t>(ranks_ - 1) <= kSlotBytes;
  Status done = is_short ? Exchange(vector, deadline) : ReduceInPieces(vector, deadline);
  if (!done.ok()) failure_ = done;
  return done;
}

/// A slot is written again two exchanges later. By then all have come to the one in between, so
/// they have read it.
Status HostGroup::Exchange(const Vector& vector, Deadline deadline) {
  const uint32_t sequence = ++exchanges_;
  const size_t turn = sequence % 2;
  Slot& own = MemoryOf(rank_).slots[turn];
  std::memcpy(own.data, vector.in, vector.bytes);
  wait_.Publish(own.sequence, sequence);
  const size_t count = vector.bytes / vector.element;
  const std::byte* sum = nullptr;
  for (int rank = 0; rank < ranks_; ++rank) {
    Slot& slot = MemoryOf(rank).slots[turn];
    if (rank != rank_) {
      Status came = wait_.Until(slot.sequence, sequence, rank, deadline);
      if (!came.ok()) return came;
    }
    // The own slot, not `in`, of which `out` may be the same.
    if (sum != nullptr) vector.reduce(vector.out, sum, slot.data, count);
    sum = sum == nullptr ? slot.data : vector.out;
  }
  return {};
}

/// 1. Each copies of its vector what others reduce into its window.
/// 2. Each reduces its chunk, from its vector and the others' windows, into its own window.
/// 3. Each fetches the others' chunks.
/// The steps of three pieces follow each other, so that nobody has to wait for who is a bit slower.
Status HostGroup::ReduceInPieces(const Vector& vector, Deadline deadline) {
  const auto pieces = static_cast<uint32_t>((vector.bytes + kPieceBytes - 1) / kPieceBytes);
  const uint32_t first = vector.first_piece;
  for (uint32_t step = 0; step < pieces + 2; ++step) {
    Status done;
    if (step < pieces) done = CopyIn(vector, first + step, deadline);
    if (done.ok() && step >= 1 && step <= pieces) {
      done = ReduceOwnChunk(vector, first + step - 1, deadline);
    }
    if (done.ok() && step >= 2) done = FetchOthers(vector, first + step - 2, deadline);
    if (!done.ok()) return done;
  }
  pieces_ += pieces;
  return {};
}

Status HostGroup::CopyIn(const Vector& vector, uint32_t piece, Deadline deadline) {
  // The others have read what was in this part of the window: what they reduced, and the result.
  // Pieces of another size have their chunks at other places, so it takes both.
  Status free = WaitForOthers(&RankLine::fetched, piece + 1 - kWindowPieces, deadline);
  if (!free.ok()) return free;
  const auto [begin, size] = vector.Piece(piece);
  const auto own = Vector::Chunk(size, rank_, ranks_);
  std::byte* window = WindowOf(rank_, piece);
  std::memcpy(window, vector.in + begin, own.begin);
  const size_t behind = own.begin + own.size;
  std::memcpy(window + behind, vector.in + begin + behind, size - behind);
  wait_.Publish(MemoryOf(rank_).line.copied, piece + 1);
  return {};
}

Status HostGroup::ReduceOwnChunk(const Vector& vector, uint32_t piece, Deadline deadline) {
  Status there = WaitForOthers(&RankLine::copied, piece + 1, deadline);
  if (!there.ok()) return there;
  const auto [begin, size] = vector.Piece(piece);
  const auto chunk = Vector::Chunk(size, rank_, ranks_);
  for (size_t done = 0; done < chunk.size; done += kBlockBytes) {
    const size_t block = std::min(kBlockBytes, chunk.size - done);
    const size_t place = chunk.begin + done;
    std::byte* result = WindowOf(rank_, piece) + place;
    const auto of = [&](int rank) -> const std::byte* {
      return rank == rank_ ? vector.in + begin + place : WindowOf(rank, piece) + place;
    };
    vector.reduce(result, of(0), of(1), block / vector.element);
    for (int rank = 2; rank < ranks_; ++rank) {
      vector.reduce(result, result, of(rank), block / vector.element);
    }
    std::byte* out = vector.out + begin + place;
    vector.stream ? kernels_.stream_copy(out, result, block)
                  : static_cast<void>(std::memcpy(out, result, block));
  }
  wait_.Publish(MemoryOf(rank_).line.reduced, piece + 1);
  return {};
}

Status HostGroup::FetchOthers(const Vector& vector, uint32_t piece, Deadline deadline) {
  const auto [begin, size] = vector.Piece(piece);
  for (int turn = 1; turn < ranks_; ++turn) {
    const int rank = (rank_ + turn) % ranks_;  // not all from the same one at once
    Status there = wait_.Until(MemoryOf(rank).line.reduced, piece + 1, rank, deadline);
    if (!there.ok()) return there;
    const auto chunk = Vector::Chunk(size, rank, ranks_);
    const std::byte* from = WindowOf(rank, piece) + chunk.begin;
    std::byte* out = vector.out + begin + chunk.begin;
    vector.stream ? kernels_.stream_copy(out, from, chunk.size)
                  : static_cast<void>(std::memcpy(out, from, chunk.size));
  }
  wait_.Publish(MemoryOf(rank_).line.fetched, piece + 1);
  return {};
}

Status HostGroup::Barrier(Deadline deadline) {
  if (!failure_.ok()) return failure_;
  wait_.Publish(MemoryOf(rank_).line.barrier, ++barriers_);
  Status done = WaitForOthers(&RankLine::barrier, barriers_, deadline);
  if (!done.ok()) failure_ = done;
  return done;
}

Status HostGroup::WaitForOthers(std::atomic<uint32_t> RankLine::*counter, uint32_t wanted,
                                Deadline deadline) {
  for (int turn = 1; turn < ranks_; ++turn) {
    const int rank = (rank_ + turn) % ranks_;
    Status there = wait_.Until(MemoryOf(rank).line.*counter, wanted, rank, deadline);
    if (!there.ok()) return there;
  }
  return {};
}

}  // namespace tony::collective
