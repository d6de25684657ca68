// The acknowledged partitions of one feed, kept as ranges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/feed/feed_messages.h"

namespace tony::core {

/// Partitions are numbered from 0 and mostly acknowledged in order, so a few ranges stand for any
/// number of them. Bounded: beyond kMostRanges the oldest epoch is forgotten, in the only epoch the
/// range of the lowest numbers, and so are all but the newest kMostEpochs. A forgotten partition
/// counts as not acknowledged, so that no data is lost; only a retry that comes many epochs, or
/// tens of thousands of partitions, late could be consumed twice. Not thread safe.
class PartitionSet {
 public:
  static constexpr size_t kMostRanges = 65536;
  static constexpr size_t kMostEpochs = 256;

  /// Adds the partitions `first` to `last` of `epoch`, and returns how many of them are new.
  uint64_t Add(int64_t epoch, int64_t first, int64_t last);
  bool Contains(int64_t epoch, int64_t partition) const;
  size_t ranges() const { return ranges_; }
  /// The ranges in order, with `feed` as their feed.
  std::vector<FeedRange> Ranges(const std::string& feed) const;

 private:
  /// Keeps the limits.
  void Forget();

  using Epoch = std::map<int64_t, int64_t>;  ///< first to last; apart by at least one partition

  std::map<int64_t, Epoch> epochs_;
  size_t ranges_ = 0;
};

}  // namespace tony::core
