// The layout of the memory that the ranks of one host share.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "collective/host/shared_memory.h"

namespace tony::collective {

/// The alignment against false sharing: two cache lines, since processors fetch them in pairs.
inline constexpr size_t kLineBytes = 128;
/// The data of one slot: the most that a rank gives all others in one exchange.
inline constexpr size_t kSlotBytes = size_t{64} << 10;
/// Vectors are exchanged whole, in the slots, if a rank then reads at most so many bytes of other
/// ranks' slots.
inline constexpr size_t kExchangeBytes = size_t{16} << 10;
/// With at most so many bytes to read, ranks do not offer vectors in arenas: a copy is as fast.
inline constexpr size_t kTinyBytes = 512;
/// A longer vector goes through each rank's window in pieces of this size. The windows are small
/// enough to stay in the caches together.
inline constexpr size_t kPieceBytes = size_t{256} << 10;
inline constexpr uint32_t kWindowPieces = 4;

/// The size of one rank's arena, for buffers that all ranks can reach. Until a page is used, it
/// takes an address but no memory.
inline constexpr size_t kArenaBytes = size_t{64} << 30;

/// A flag in `failed_rank`: the rank has not ended, but did not come by a deadline.
inline constexpr uint32_t kLate = uint32_t{1} << 31;

/// State of all ranks together. Sequence numbers and counters wrap around.
struct alignas(kLineBytes) HostLine {
  std::atomic<uint32_t> ranks;     ///< number of ranks that the memory was made for
  std::atomic<uint32_t> sleepers;  ///< number of ranks that sleep, or are about to
  std::atomic<uint32_t> bell;      ///< the futex word; changes to wake the sleepers
  /// The failed rank plus one, perhaps with kLate. 0: none.
  alignas(kLineBytes) std::atomic<uint32_t> failed_rank;
};

/// Counters of one rank. Only that rank writes them; all ranks read them.
struct alignas(kLineBytes) RankLine {
  // Counts since the group's beginning, the first three of pieces of vectors:
  std::atomic<uint32_t> copied;   ///< pieces that it has copied into its window
  std::atomic<uint32_t> reduced;  ///< pieces whose own chunk it has reduced, in its window
  std::atomic<uint32_t> fetched;  ///< pieces of which it has fetched all others' data
  std::atomic<uint32_t> placed;   ///< vectors of which it has written its part to all ranks
  std::atomic<uint32_t> barrier;  ///< barriers that it has reached
  // On a line of their own: waiting ranks read `left` often, while the counters above change.
  alignas(kLineBytes) std::atomic<uint32_t> left;  ///< 1: the rank has left
  std::atomic<uint32_t> process;  ///< number of the process that has claimed its arena; 0: none
};

/// One short vector of a rank. Its first bytes share a cache line with the sequence number, so a
/// tiny vector costs one transfer of a cache line.
struct alignas(kLineBytes) Slot {
  std::atomic<uint32_t> sequence;  ///< number of the exchange that the data belongs to
  alignas(8) std::byte data[kSlotBytes];
};

/// The memory of one rank.
struct RankMemory {
  RankLine line;
  Slot slots[2];  ///< used in turn
  alignas(kLineBytes) std::byte window[kWindowPieces][kPieceBytes];
};

/// The beginning of the shared memory. The RankMemory of each rank follows, and then, if there is
/// room, the arena of each rank.
struct HostMemory {
  HostLine line;

  /// Prepares memory for `ranks` ranks that may have been used before.
  void Reset(int ranks) {
    line.ranks = static_cast<uint32_t>(ranks);
    for (auto* counter : {&line.sleepers, &line.bell, &line.failed_rank}) *counter = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      RankLine& own = Of(rank).line;
      for (auto* counter : {&own.copied, &own.reduced, &own.fetched, &own.placed, &own.barrier,
                            &own.left, &own.process}) {
        *counter = 0;
      }
      for (Slot& slot : Of(rank).slots) slot.sequence = 0;
    }
  }
  /// The memory of `rank`.
  RankMemory& Of(int rank) { return reinterpret_cast<RankMemory*>(this + 1)[rank]; }

  /// The size without arenas, rounded up to 64 KiB: whole pages on every kind of machine.
  static size_t BytesFor(int ranks) {
    constexpr size_t kPage = size_t{64} << 10;
    const size_t bytes = sizeof(HostLine) + sizeof(RankMemory) * static_cast<size_t>(ranks);
    return (bytes + kPage - 1) / kPage * kPage;
  }
  /// The size of the arenas.
  static size_t ArenasBytesFor(int ranks) { return kArenaBytes * static_cast<size_t>(ranks); }
};

static_assert(std::atomic<uint32_t>::is_always_lock_free);

}  // namespace tony::collective
