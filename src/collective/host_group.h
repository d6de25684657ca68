// A group of ranks on one host, through memory that they share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "collective/group.h"
#include "collective/host_layout.h"
#include "collective/host_wait.h"
#include "collective/kernels.h"
#include "collective/shared_memory.h"

namespace tony::collective {

/// Adds rank after rank, whichever way data goes.
class HostGroup : public Group {
 public:
  /// What CreateMemory() makes is mapped by each rank (SharedMemory::Map).
  static Result<std::unique_ptr<SharedMemory>> CreateMemory(int ranks);
  /// `rank` counts on this host, from 0.
  /// InvalidArgument: the memory is of fewer ranks.
  static Result<std::unique_ptr<HostGroup>> Join(std::shared_ptr<SharedMemory> memory, int rank,
                                                 int ranks);

  Status AllReduce(const void* in, void* out, size_t count, DataType type, ReduceOp op,
                   Deadline deadline) override;
  Status Barrier(Deadline deadline) override;
  void Fail(int rank) override { wait_.Fail(rank); }
  void Leave() override { wait_.Publish(MemoryOf(rank_).line.left, 1); }
  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }

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
