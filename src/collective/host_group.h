// Collective operations among the ranks of one host, through memory that they share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "collective/data_type.h"
#include "collective/deadline.h"
#include "collective/host_layout.h"
#include "collective/host_wait.h"
#include "collective/kernels.h"
#include "collective/shared_memory.h"
#include "collective/status.h"

namespace tony::collective {

/// All ranks call the same operations in the same order with the same count, type and operation:
/// who negotiates sees to that. The result has the same bits on all of them, and is that of adding
/// rank after rank.
/// After an error other than InvalidArgument the group has failed, and each call says so.
/// Not thread safe: of one rank's data thread. Only Fail() may come from another one.
class HostGroup {
 public:
  /// What CreateMemory() makes is mapped by each rank (SharedMemory::Map).
  static Result<std::unique_ptr<SharedMemory>> CreateMemory(int ranks);
  /// `rank` counts on this host, from 0.
  /// InvalidArgument: the memory is of fewer ranks.
  static Result<std::unique_ptr<HostGroup>> Join(std::shared_ptr<SharedMemory> memory, int rank,
                                                 int ranks);

  /// out[i] = in[i] of rank 0 op in[i] of rank 1 op …, for `count` elements. `out` may be `in`, and
  /// does not overlap it otherwise.
  /// DeadlineExceeded, Aborted: a rank did not come, or has ended; `out` is then undefined.
  Status AllReduce(const void* in, void* out, size_t count, DataType type, ReduceOp op,
                   Deadline deadline);
  /// Until all have come.
  Status Barrier(Deadline deadline);
  /// Ends what waits, here and at the others: `rank` of this host has ended. Thread safe.
  void Fail(int rank) { wait_.Fail(rank); }

  /// Nothing of this rank will follow: who waits for it fails, but not who is still fetching what
  /// it has done. Thread safe.
  void Leave() { wait_.Publish(MemoryOf(rank_).line.left, 1); }

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }

 private:
  struct Vector;

  HostGroup(std::shared_ptr<SharedMemory> memory, int rank, int ranks);

  Status Exchange(const Vector& vector, Deadline deadline);
  Status ReduceInPieces(const Vector& vector, Deadline deadline);
  Status CopyIn(const Vector& vector, uint32_t piece, Deadline deadline);
  Status ReduceOwnChunk(const Vector& vector, uint32_t piece, Deadline deadline);
  Status FetchOthers(const Vector& vector, uint32_t piece, Deadline deadline);
  /// For all other ranks.
  Status WaitForOthers(std::atomic<uint32_t> RankLine::*counter, uint32_t wanted,
                       Deadline deadline);
  RankMemory& MemoryOf(int rank) const { return host_.Of(rank); }
  std::byte* WindowOf(int rank, uint32_t piece) const {
    return MemoryOf(rank).window[piece % kWindowPieces];
  }

  const std::shared_ptr<SharedMemory> memory_;
  HostMemory& host_;
  const int rank_;
  const int ranks_;
  HostWait wait_;
  const Kernels& kernels_;
  Status failure_;
  uint32_t exchanges_ = 0;
  uint32_t pieces_ = 0;
  uint32_t barriers_ = 0;
};

}  // namespace tony::collective
