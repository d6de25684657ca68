// Adasum: a sum that is an average where vectors agree.
#pragma once

#include <cstddef>
#include <vector>

#include "collective/arithmetic/kernels.h"
#include "collective/base/scratch.h"
#include "collective/group/group.h"

namespace tony::collective {

/// Maleki et al., "Scaling Distributed Training with Adaptive Summation", 2020: two vectors become
///   (1 - a·b / 2|a|²) a + (1 - a·b / 2|b|²) b
/// which is their sum where they are orthogonal, and their average where they are the same. One
/// that is all zeros adds nothing.
///
/// 1. Ranks exchange their vectors so that each has a share of all of them.
/// 2. Neighbours are paired: 0 with 1, 2 with 3, …. Each rank computes its share of their dot
///    products, which are added in float64, and combines its shares. Then neighbours of these
///    pairs, and so on. Where one is left over it is paired at the next step: of 3 ranks the third
///    with the pair of the first two. For powers of two that is the paper's distance doubling.
/// 3. Each gets the others' shares of the result: of the same bits everywhere, since each share is
///    made by one rank.
/// As much data moves as of a sum, however many ranks there are. Not thread safe.
class Adasum {
 public:
  explicit Adasum(Group& group) : group_(group), kernels_(BestKernels()) {}

  /// `in` holds vectors one after the other, of `counts` elements, each with factors of its own;
  /// `out`, which may be `in`, the results. `type` is floating, and each step's result is rounded
  /// to it. Errors are the group's. std::bad_alloc.
  Status Reduce(const void* in, void* out, const std::vector<size_t>& counts, DataType type,
                Deadline deadline);

 private:
  /// What of a vector lies in this rank's share, in elements.
  struct Segment {
    size_t vector;
    size_t begin;  ///< in the share
    size_t count;
  };
  Status Combine(const std::vector<std::byte*>& shares, const std::vector<Segment>& segments,
                 size_t vectors, DataType type, Deadline deadline);

  Group& group_;
  const Kernels& kernels_;
  Scratch shares_;
};

}  // namespace tony::collective
