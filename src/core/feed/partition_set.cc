// A map of disjoint ranges for each epoch; a new range swallows those that it touches.
#include "core/feed/partition_set.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace tony::core {
namespace {

/// Number of partitions in a range.
uint64_t Size(const std::pair<const int64_t, int64_t>& range) {
  return static_cast<uint64_t>(range.second) - static_cast<uint64_t>(range.first) + 1;
}

}  // namespace

uint64_t PartitionSet::Add(int64_t epoch, int64_t first, int64_t last) {
  if (last < first || first < 0) return 0;
  Epoch& ranges = epochs_[epoch];
  uint64_t old = 0;
  auto next = ranges.upper_bound(first);
  if (next != ranges.begin()) {
    const auto before = std::prev(next);
    // `before->second + 1` cannot overflow unless the range reaches to the greatest number, and
    // then it contains `first`.
    if (before->second >= first || before->second + 1 == first) {
      first = before->first;
      last = std::max(last, before->second);
      old += Size(*before);
      ranges.erase(before);
      --ranges_;
    }
  }
  while (next != ranges.end() &&
         (last == std::numeric_limits<int64_t>::max() || next->first <= last + 1)) {
    last = std::max(last, next->second);
    old += Size(*next);
    next = ranges.erase(next);
    --ranges_;
  }
  ranges[first] = last;
  ++ranges_;
  const uint64_t added = Size({first, last}) - old;
  Forget();
  return added;
}

void PartitionSet::Forget() {
  while (epochs_.size() > 1 && (ranges_ > kMostRanges || epochs_.size() > kMostEpochs)) {
    ranges_ -= epochs_.begin()->second.size();
    epochs_.erase(epochs_.begin());
  }
  // An epoch may last as long as the job, as that of Spark's tasks does, whose numbers only grow.
  Epoch& newest = epochs_.begin()->second;
  for (; ranges_ > kMostRanges; --ranges_) newest.erase(newest.begin());
}

bool PartitionSet::Contains(int64_t epoch, int64_t partition) const {
  const auto ranges = epochs_.find(epoch);
  if (ranges == epochs_.end()) return false;
  const auto after = ranges->second.upper_bound(partition);
  return after != ranges->second.begin() && std::prev(after)->second >= partition;
}

std::vector<FeedRange> PartitionSet::Ranges(const std::string& feed) const {
  std::vector<FeedRange> all;
  for (const auto& [epoch, ranges] : epochs_) {
    for (const auto& [first, last] : ranges) all.push_back({feed, epoch, first, last});
  }
  return all;
}

}  // namespace tony::core
