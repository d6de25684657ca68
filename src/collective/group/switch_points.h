// The sizes and rank counts from which another algorithm is faster.
#pragma once

#include <cstddef>
#include <string>

#include "collective/base/status.h"

namespace tony::collective {

/// Switch points of operations between hosts. All ranks use those of rank 0.
///
/// As text they are a table: each line has a name as below and a number; '#' begins a comment. A
/// name that is missing keeps its default. python3 -m tony.collective.tune writes such a table.
struct SwitchPoints {
  static constexpr size_t kMostStreams = 16;
  static constexpr size_t kMostPieceBytes = size_t{256} << 10;

  /// Reductions: if the vectors of all other ranks together are no larger than this, each rank
  /// sends its vector to all whole, and each reduces all of them. A larger vector is reduced in
  /// chunks, one for each rank.
  size_t whole_bytes = size_t{64} << 10;
  /// Whole vectors are sent directly from each to each among at most this many ranks; among more
  /// ranks by recursive doubling.
  size_t direct_ranks = 8;
  /// From this size on the root scatters a broadcast, and each rank passes its part on. A smaller
  /// one goes down a binomial tree.
  size_t scatter_bytes = size_t{256} << 10;
  /// The largest piece of a chunk; one piece is reduced while the next is received.
  size_t piece_bytes = kMostPieceBytes;
  /// The size of the window for received pieces that are not reduced yet, and so the most bytes
  /// that are on their way to one rank. What a network's switch cannot hold is lost. With many
  /// ranks the pieces are smaller.
  size_t window_bytes = size_t{1} << 20;
  /// From this size on all ranks of a host exchange data with other hosts, each for its part of the
  /// vector. For a smaller vector only the first rank does.
  size_t rails_bytes = size_t{128} << 10;
  /// The number of TCP connections for data between each two ranks.
  size_t streams = 2;

  bool operator==(const SwitchPoints&) const = default;

  /// Writes all switch points as a table.
  std::string Encode() const;
  /// Parses a table. `where`: its name in messages. InvalidArgument – a line is wrong; the message
  /// names `where`, the line, and what to write there.
  static Result<SwitchPoints> Decode(const std::string& table, const std::string& where);
  /// Reads a table from a file. InvalidArgument – a line is wrong, as for Decode(), or the file
  /// cannot be read.
  static Result<SwitchPoints> Read(const std::string& file);
  /// InvalidArgument – a value is out of its range; the message names it.
  Status Check() const;
};

}  // namespace tony::collective
