// One rank's access to a host's shared memory: slots for short vectors, windows for long ones.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "collective/base/deadline.h"
#include "collective/base/status.h"
#include "collective/host/host_layout.h"
#include "collective/host/host_wait.h"

namespace tony::collective {

/// All ranks use the same number of slots and pieces, in the same order. So each rank counts them
/// for itself, and none has to be agreed on. Not thread safe: of one rank.
class HostPipe {
 public:
  /// `host`, `all` and `names`: as for HostWait. `rank`: the own rank in this group.
  HostPipe(HostMemory& host, int rank, HostMemory& all, std::vector<int> names)
      : host_(host),
        rank_(rank),
        ranks_(static_cast<int>(names.size())),
        wait_(host, all, std::move(names)) {}

  /// Exchanges short data among all ranks. `write(slot)` puts at most kSlotBytes into the own slot.
  /// `read(rank, slot)` is called for each rank in ascending order, the own one included.
  /// The errors are those of HostWait::Until.
  ///
  /// Double buffering: the two slots are used in turn. A slot is written again two exchanges later.
  /// By then this rank has waited for all ranks in the exchange between. A rank that has come to
  /// that one has read all slots of the exchange before it.
  template <typename Write, typename Read>
  Status Exchange(const Write& write, const Read& read, Deadline deadline) {
    const uint32_t sequence = ++exchanges_;
    const size_t turn = sequence % 2;
    Slot& own = host_.Of(rank_).slots[turn];
    write(own.data);
    wait_.Publish(own.sequence, sequence);
    for (int rank = 0; rank < ranks_; ++rank) {
      Slot& slot = host_.Of(rank).slots[turn];
      if (rank != rank_) {
        Status came = wait_.Until(slot.sequence, sequence, rank, deadline);
        if (!came.ok()) return came;
      }
      read(rank, slot.data);
    }
    wait_.Prepare(host_.Of(rank_).slots[1 - turn].sequence);
    return {};
  }

  // Pieces are counted since the group's beginning. Those of one operation begin at next_piece().
  // The errors of the functions below are those of HostWait::Until.

  uint32_t next_piece() const { return pieces_; }
  /// The place of a piece in `rank`'s window: kPieceBytes bytes.
  std::byte* Window(int rank, uint32_t piece) const {
    return host_.Of(rank).window[piece % kWindowPieces];
  }

  /// Calls `write(window)` for a place of the own window, once all others have fetched the piece
  /// that was there before. Then publishes the piece as copied.
  template <typename Write>
  Status Fill(uint32_t piece, const Write& write, Deadline deadline) {
    // The wait is for `fetched`, not only `reduced`: pieces of different sizes have their chunks at
    // different places, so the new piece may overwrite a chunk that others are still to fetch.
    Status free = UntilOthers(&RankLine::fetched, piece + 1 - kWindowPieces, deadline);
    if (!free.ok()) return free;
    write(Window(rank_, piece));
    Publish(&RankLine::copied, piece + 1);
    return {};
  }
  /// Calls `read(rank, window)` for each other rank, as soon as `counter` of that rank has passed
  /// the piece.
  template <typename Read>
  Status ReadOthers(std::atomic<uint32_t> RankLine::*counter, uint32_t piece, const Read& read,
                    Deadline deadline) {
    for (int turn = 1; turn < ranks_; ++turn) {
      // Each rank begins with its next one, so that not all read from the same rank at once.
      const int rank = (rank_ + turn) % ranks_;
      Status there = Until(rank, counter, piece + 1, deadline);
      if (!there.ok()) return there;
      read(rank, Window(rank, piece));
    }
    return {};
  }
  /// Runs an operation of `pieces` pieces. For each piece n, from 0, it calls `fill(window, n)` for
  /// the own window and then `take(piece, n)`, which waits for the data that it reads. Piece n + 1
  /// is filled before piece n is taken, so a rank need not wait for one that is slightly slower.
  template <typename FillPiece, typename TakePiece>
  Status InPieces(uint32_t pieces, const FillPiece& fill, const TakePiece& take,
                  Deadline deadline) {
    const uint32_t first = pieces_;
    for (uint32_t step = 0; step <= pieces; ++step) {
      Status done;
      if (step < pieces) {
        done = Fill(
            first + step, [&](std::byte* window) { fill(window, step); }, deadline);
      }
      if (done.ok() && step >= 1) {
        done = take(first + step - 1, step - 1);
        if (done.ok()) Publish(&RankLine::fetched, first + step);
      }
      if (!done.ok()) return done;
    }
    FinishPieces(pieces);
    return {};
  }
  /// Ends an operation of `pieces` pieces. All three counters are set to its end, also those that
  /// the operation does not use, so that the next operation can wait for any of them.
  void FinishPieces(uint32_t pieces) {
    pieces_ += pieces;
    Publish(&RankLine::copied, pieces_);
    Publish(&RankLine::reduced, pieces_);
    Publish(&RankLine::fetched, pieces_);
  }

  /// Waits until `counter` of `rank` has reached `wanted`.
  Status Until(int rank, std::atomic<uint32_t> RankLine::*counter, uint32_t wanted,
               Deadline deadline) {
    return wait_.Until(host_.Of(rank).line.*counter, wanted, rank, deadline);
  }
  /// Waits until `counter` of all other ranks has reached `wanted`.
  Status UntilOthers(std::atomic<uint32_t> RankLine::*counter, uint32_t wanted, Deadline deadline) {
    for (int turn = 1; turn < ranks_; ++turn) {
      Status there = Until((rank_ + turn) % ranks_, counter, wanted, deadline);
      if (!there.ok()) return there;
    }
    return {};
  }
  /// Sets an own counter and wakes the ranks that sleep.
  void Publish(std::atomic<uint32_t> RankLine::*counter, uint32_t value) {
    wait_.Publish(host_.Of(rank_).line.*counter, value);
  }
  /// As HostWait::Prepare(), for an own counter.
  void Prepare(std::atomic<uint32_t> RankLine::*counter) {
    wait_.Prepare(host_.Of(rank_).line.*counter);
  }
  /// As HostWait::WithAll().
  Status WithAll() const { return wait_.WithAll(); }
  /// As HostWait::Fail(). Thread safe.
  void Fail(int rank) { wait_.Fail(rank); }

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }

 private:
  HostMemory& host_;
  const int rank_;
  const int ranks_;
  HostWait wait_;
  uint32_t exchanges_ = 0;  ///< since the group's beginning
  uint32_t pieces_ = 0;     ///< of finished operations, since the group's beginning
};

}  // namespace tony::collective
