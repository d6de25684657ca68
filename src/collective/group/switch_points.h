// From which size on, and among how many, another way is the faster one.
#pragma once

#include <cstddef>
#include <string>

#include "collective/base/status.h"

namespace tony::collective {

/// Of operations between hosts. All ranks use rank 0's.
///
/// As text it is a table: on each line a name as below and a number; '#' begins a comment. What
/// does not stand there is as below. python3 -m tony.collective.tune writes one.
struct SwitchPoints {
  static constexpr size_t kMostStreams = 16;
  static constexpr size_t kMostPieceBytes = size_t{256} << 10;

  /// A vector of which all others' together are not larger goes to all whole, and each reduces it
  /// for itself; a larger one is reduced in chunks, one of each rank.
  size_t whole_bytes = size_t{64} << 10;
  /// Whole, among so many ranks, it goes from each to each; among more by recursive doubling.
  size_t direct_ranks = 8;
  /// From here on a broadcast is scattered by its root, and each rank passes its part on; a smaller
  /// one goes down a tree.
  size_t scatter_bytes = size_t{256} << 10;
  /// Of a chunk that is reduced while the next one comes: at most.
  size_t piece_bytes = kMostPieceBytes;
  /// For pieces that have come and are not reduced yet, and so the most that is on its way to one
  /// rank: what a network's switch cannot hold is lost. With many ranks pieces are smaller.
  size_t window_bytes = size_t{1} << 20;
  /// From here on all ranks of a host speak with other hosts, each for its part; of a smaller
  /// vector only the first one.
  size_t rails_bytes = size_t{128} << 10;
  /// TCP connections for data between each two ranks.
  size_t streams = 2;

  bool operator==(const SwitchPoints&) const = default;

  /// All of them, as a table.
  std::string Encode() const;
  /// InvalidArgument: names `where` and the line, and what to write there.
  static Result<SwitchPoints> Decode(const std::string& table, const std::string& where);
  /// InvalidArgument: as above, or the file cannot be read.
  static Result<SwitchPoints> Read(const std::string& file);
  /// Ok, or InvalidArgument: which of them is out of its range.
  Status Check() const;
};

}  // namespace tony::collective
