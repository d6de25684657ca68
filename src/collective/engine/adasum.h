// Adasum: a reduction that is a sum where vectors are orthogonal and an average where they agree.
#pragma once

#include <cstddef>
#include <vector>

#include "collective/arithmetic/kernels.h"
#include "collective/base/scratch.h"
#include "collective/group/group.h"

namespace tony::collective {

/// Maleki et al., "Scaling Distributed Training with Adaptive Summation", 2020. Two vectors become
///   (1 - a·b / 2|a|²) a + (1 - a·b / 2|b|²) b
/// which is their sum if they are orthogonal, and their average if they are equal. A vector of
/// zeros adds nothing.
///
/// 1. All-to-all: each rank gets a share of all ranks' vectors.
/// 2. Neighbours are paired: 0 with 1, 2 with 3, and so on. Each rank computes the dot products of
///    its shares of each pair. An allreduce adds them in float64, and each rank combines its
///    shares. Then neighbouring pairs are paired, and so on. A vector without a partner is paired
///    at the next step: of 3 ranks, the third vector with the combination of the first two. For
///    powers of two the pairs are those of the paper's distance doubling.
/// 3. All-gather: each rank gets the others' shares of the result. All ranks have the same bits,
///    since each share is computed by one rank.
/// The amount of data that moves is that of a sum, for any number of ranks. Not thread safe.
class Adasum {
 public:
  explicit Adasum(Group& group) : group_(group), kernels_(BestKernels()) {}

  /// `in`: vectors one after the other, the i-th of `counts[i]` elements; each has factors of its
  /// own. `out`: the results, in the same places; may be `in`. `type`: a floating type, to which
  /// each step's result is rounded. Errors are the group's. Throws std::bad_alloc.
  Status Reduce(const void* in, void* out, const std::vector<size_t>& counts, DataType type,
                Deadline deadline);

 private:
  /// The part of a vector that lies in this rank's share, in elements.
  struct Segment {
    size_t vector;
    size_t begin;  ///< offset in the share
    size_t count;
  };
  Status Combine(const std::vector<std::byte*>& shares, const std::vector<Segment>& segments,
                 size_t vectors, DataType type, Deadline deadline);

  Group& group_;
  const Kernels& kernels_;
  Scratch shares_;
};

}  // namespace tony::collective
