// One rank's end of what ranks of a host share: slots for what is short, windows for what is long.
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

/// All ranks take the same number of slots and pieces, in the same order: where they are is counted
/// and not agreed on. Not thread safe: of one rank.
class HostPipe {
 public:
  /// `all` and `names`: as of HostWait.
  HostPipe(HostMemory& host, int rank, HostMemory& all, std::vector<int> names)
      : host_(host),
        rank_(rank),
        ranks_(static_cast<int>(names.size())),
        wait_(host, all, std::move(names)) {}

  /// `write(slot)` puts at most kSlotBytes into the own slot; `read(rank, slot)` is called for all
  /// ranks, one after the other from 0, the own one included.
  ///
  /// A slot is written again two exchanges later. By then all have come to the one in between,
  /// since each waits for all, so they have read it.
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

  uint32_t next_piece() const { return pieces_; }
  /// A piece's place in a rank's window: kPieceBytes.
  std::byte* Window(int rank, uint32_t piece) const {
    return host_.Of(rank).window[piece % kWindowPieces];
  }

  /// `write(window)` into the own one, once the others have read what was there.
  template <typename Write>
  Status Fill(uint32_t piece, const Write& write, Deadline deadline) {
    // Not only this rank's part of it: pieces of another size have theirs at other places.
    Status free = UntilOthers(&RankLine::fetched, piece + 1 - kWindowPieces, deadline);
    if (!free.ok()) return free;
    write(Window(rank_, piece));
    Publish(&RankLine::copied, piece + 1);
    return {};
  }
  /// `read(rank, window)` for each other rank, as soon as it has come so far with the piece.
  template <typename Read>
  Status ReadOthers(std::atomic<uint32_t> RankLine::*counter, uint32_t piece, const Read& read,
                    Deadline deadline) {
    for (int turn = 1; turn < ranks_; ++turn) {
      const int rank = (rank_ + turn) % ranks_;  // not all from the same one at once
      Status there = Until(rank, counter, piece + 1, deadline);
      if (!there.ok()) return there;
      read(rank, Window(rank, piece));
    }
    return {};
  }
  /// Each of the operation's pieces: `fill(window, n)` the own one, then `take(piece, n)`, which
  /// waits for what it reads, for n from 0. The steps of two pieces follow each other, so that
  /// nobody has to wait for who is a bit slower.
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
  /// The operation has taken so many. Its counters all stand there then, also those that it does
  /// not use.
  void FinishPieces(uint32_t pieces) {
    pieces_ += pieces;
    Publish(&RankLine::copied, pieces_);
    Publish(&RankLine::reduced, pieces_);
    Publish(&RankLine::fetched, pieces_);
  }

  Status Until(int rank, std::atomic<uint32_t> RankLine::*counter, uint32_t wanted,
               Deadline deadline) {
    return wait_.Until(host_.Of(rank).line.*counter, wanted, rank, deadline);
  }
  Status UntilOthers(std::atomic<uint32_t> RankLine::*counter, uint32_t wanted, Deadline deadline) {
    for (int turn = 1; turn < ranks_; ++turn) {
      Status there = Until((rank_ + turn) % ranks_, counter, wanted, deadline);
      if (!there.ok()) return there;
    }
    return {};
  }
  /// Of this rank.
  void Publish(std::atomic<uint32_t> RankLine::*counter, uint32_t value) {
    wait_.Publish(host_.Of(rank_).line.*counter, value);
  }
  /// As HostWait::Prepare(). Of this rank.
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
  uint32_t exchanges_ = 0;
  uint32_t pieces_ = 0;
};

}  // namespace tony::collective
