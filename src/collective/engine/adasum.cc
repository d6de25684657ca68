// Distance doubling needs a power of two of ranks. Here all dot products of a step go through one
// small allreduce instead, since each rank holds a share of every vector.
#include "collective/engine/adasum.h"

#include <algorithm>
#include <cstring>

namespace tony::collective {
namespace {

/// The factors of a and b, from the three sums a·b, |a|², |b|². A vector of zeros has the factor 1,
/// instead of a division by 0.
struct Factors {
  double a;
  double b;

  explicit Factors(const double* sums)
      : a(sums[1] == 0 ? 1 : 1 - sums[0] / sums[1] / 2),
        b(sums[2] == 0 ? 1 : 1 - sums[0] / sums[2] / 2) {}
};

}  // namespace

Status Adasum::Reduce(const void* in, void* out, const std::vector<size_t>& counts, DataType type,
                      Deadline deadline) {
  const size_t element = SizeOf(type);
  const auto ranks = static_cast<size_t>(group_.ranks());
  const auto me = static_cast<size_t>(group_.rank());
  size_t total = 0;
  for (const size_t count : counts) total += count;
  if (total == 0) return {};
  if (ranks == 1) {
    if (in != out) std::memcpy(out, in, total * element);
    return {};
  }
  // total * rank might overflow.
  const auto begin_of = [&](size_t rank) {
    return total / ranks * rank + std::min(rank, total % ranks);
  };
  const auto count_of = [&](size_t rank) { return begin_of(rank + 1) - begin_of(rank); };
  std::vector<size_t> bytes;
  for (size_t rank = 0; rank < ranks; ++rank) bytes.push_back(count_of(rank) * element);
  std::byte* all = shares_.Take(bytes[me] * ranks);
  Status done = group_.AllToAll(in, bytes, all, std::vector<size_t>(ranks, bytes[me]), deadline);
  if (!done.ok()) return done;

  std::vector<std::byte*> shares;
  for (size_t rank = 0; rank < ranks; ++rank) shares.push_back(all + rank * bytes[me]);
  std::vector<Segment> segments;
  size_t begin = 0;  // offset of the vector in `in`
  for (size_t vector = 0; vector < counts.size(); begin += counts[vector++]) {
    const size_t from = std::max(begin, begin_of(me));
    const size_t to = std::min(begin + counts[vector], begin_of(me + 1));
    if (from < to) segments.push_back({vector, from - begin_of(me), to - from});
  }
  // Each step halves the number of shares, rounded up: the last one of an odd number stays for the
  // next step.
  while (done.ok() && shares.size() > 1) {
    done = Combine(shares, segments, counts.size(), type, deadline);
    std::vector<std::byte*> combined;
    for (size_t i = 0; i < shares.size(); i += 2) combined.push_back(shares[i]);
    shares = std::move(combined);
  }
  return done.ok() ? group_.AllGather(shares[0], out, bytes, deadline) : done;
}

/// One step: combines each pair of shares into the pair's first share.
Status Adasum::Combine(const std::vector<std::byte*>& shares, const std::vector<Segment>& segments,
                       size_t vectors, DataType type, Deadline deadline) {
  const size_t pairs = shares.size() / 2;
  const size_t element = SizeOf(type);
  std::vector<double> sums(pairs * vectors * 3);
  const auto sums_of = [&](size_t pair, const Segment& segment) {
    return &sums[(pair * vectors + segment.vector) * 3];
  };
  for (size_t pair = 0; pair < pairs; ++pair) {
    for (const Segment& segment : segments) {
      const size_t at = segment.begin * element;
      kernels_.Dots(type)(sums_of(pair, segment), shares[2 * pair] + at, shares[2 * pair + 1] + at,
                          segment.count);
    }
  }
  // The sums of all pairs and vectors go in one allreduce. They are float64, whatever `type` is.
  Status added = group_.AllReduce(sums.data(), sums.data(), sums.size(), DataType::kFloat64,
                                  ReduceOp::kSum, deadline);
  if (!added.ok()) return added;
  for (size_t pair = 0; pair < pairs; ++pair) {
    for (const Segment& segment : segments) {
      const Factors factors(sums_of(pair, segment));
      std::byte* a = shares[2 * pair] + segment.begin * element;
      const std::byte* b = shares[2 * pair + 1] + segment.begin * element;
      kernels_.Mix(type)(a, a, b, segment.count, factors.a, factors.b);
    }
  }
  return {};
}

}  // namespace tony::collective
