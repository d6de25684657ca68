// What ranks of one host have in their shared memory, and where.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "collective/host/shared_memory.h"

namespace tony::collective {

/// Two cache lines, since processors fetch them in pairs.
inline constexpr size_t kLineBytes = 128;
/// What a rank tells all others at once.
inline constexpr size_t kSlotBytes = size_t{64} << 10;
/// Vectors are reduced in the slots, whole, while a rank reads at most so many bytes of others'.
inline constexpr size_t kExchangeBytes = size_t{16} << 10;
/// With so few nobody asks whether they lie in arenas: a copy takes no longer.
inline constexpr size_t kTinyBytes = 512;
/// A longer one goes through each rank's window in pieces. Together the windows stay in the caches.
inline constexpr size_t kPieceBytes = size_t{256} << 10;
inline constexpr uint32_t kWindowPieces = 4;

/// Room for one rank's buffers that all can reach, of addresses only until it is used.
inline constexpr size_t kArenaBytes = size_t{64} << 30;

/// Of a rank that has failed: others have waited for it no longer.
inline constexpr uint32_t kLate = uint32_t{1} << 31;

/// For all ranks. Sequence numbers and counters wrap around.
struct alignas(kLineBytes) HostLine {
  std::atomic<uint32_t> ranks;                            ///< for which it was made
  std::atomic<uint32_t> sleepers;                         ///< ranks that sleep, or are about to
  std::atomic<uint32_t> bell;                             ///< changes to wake them
  alignas(kLineBytes) std::atomic<uint32_t> failed_rank;  ///< plus one, and kLate; 0: none
};

/// Written by one rank, read by all.
struct alignas(kLineBytes) RankLine {
  // Of vectors in pieces, since the group's beginning:
  std::atomic<uint32_t> copied;   ///< so many are in its window
  std::atomic<uint32_t> reduced;  ///< of so many its own chunk is, in its window
  std::atomic<uint32_t> fetched;  ///< of so many it has all others' chunks
  std::atomic<uint32_t> placed;   ///< so many results it has written where they belong
  std::atomic<uint32_t> barrier;  ///< so many barriers it has come to
  // Looked at again and again while the others change:
  alignas(kLineBytes) std::atomic<uint32_t> left;  ///< 1: nothing of it will follow
  std::atomic<uint32_t> process;                   ///< that has claimed its arena; 0: none
};

/// One short vector of a rank. Its first bytes share a cache line with the sequence number.
struct alignas(kLineBytes) Slot {
  std::atomic<uint32_t> sequence;  ///< of the operation that the data is of
  alignas(8) std::byte data[kSlotBytes];
};

/// All of one rank.
struct RankMemory {
  RankLine line;
  Slot slots[2];  ///< in turn
  alignas(kLineBytes) std::byte window[kWindowPieces][kPieceBytes];
};

/// Followed by the memory of as many ranks as there are, and by their arenas if there is room.
struct HostMemory {
  HostLine line;

  /// Memory that was used before is as new.
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
  RankMemory& Of(int rank) { return reinterpret_cast<RankMemory*>(this + 1)[rank]; }

  /// Without arenas, in whole pages of all kinds of machines.
  static size_t BytesFor(int ranks) {
    constexpr size_t kPage = size_t{64} << 10;
    const size_t bytes = sizeof(HostLine) + sizeof(RankMemory) * static_cast<size_t>(ranks);
    return (bytes + kPage - 1) / kPage * kPage;
  }
  static size_t ArenasBytesFor(int ranks) { return kArenaBytes * static_cast<size_t>(ranks); }
};

static_assert(std::atomic<uint32_t>::is_always_lock_free);

}  // namespace tony::collective
