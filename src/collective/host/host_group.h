// A group of ranks on one host, through memory that they share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "collective/arithmetic/kernels.h"
#include "collective/group/group.h"
#include "collective/host/host_pipe.h"
#include "collective/host/shared_memory.h"

namespace tony::collective {

/// Adds rank after rank, whichever way data goes. A sub-group's windows lie in the arena of its
/// first rank, which all ranks of the host reach.
class HostGroup : public Group {
 public:
  /// What CreateMemory() makes is mapped by each rank (SharedMemory::Map).
  static Result<std::unique_ptr<SharedMemory>> CreateMemory(int ranks);
  /// `rank` counts on this host, from 0.
  /// InvalidArgument: the memory is of another number of ranks.
  static Result<std::unique_ptr<HostGroup>> Join(std::shared_ptr<SharedMemory> memory, int rank,
                                                 int ranks);

  /// Where a process has ended without freeing its buffers, these go: they would stay as long as
  /// any other process keeps one of its own. The last one to leave sees to it, since parts of the
  /// group lie in the same memory, and others may fetch there what the ended one has done last.
  ~HostGroup() override;

  Status AllReduce(const void* in, void* out, size_t count, DataType type, ReduceOp op,
                   Deadline deadline) override;
  Status AllReduceFused(const Fusion& fusion, ReduceOp op, Deadline deadline) override;
  Status AllGather(const void* in, void* out, const std::vector<size_t>& bytes,
                   Deadline deadline) override;
  Status Broadcast(void* data, size_t bytes, int root, Deadline deadline) override;
  Status ReduceScatter(const void* in, void* out, const std::vector<size_t>& counts, DataType type,
                       ReduceOp op, Deadline deadline) override;
  Status AllToAll(const void* in, const std::vector<size_t>& sent, void* out,
                  const std::vector<size_t>& received, Deadline deadline) override;
  Status Barrier(Deadline deadline) override;
  Result<std::unique_ptr<Group>> Subgroup(const std::vector<int>& members,
                                          Deadline deadline) override;
  void Retire() override;
  void Fail(int rank) override { pipe_.Fail(rank); }
  void Leave() override { pipe_.Publish(&RankLine::left, 1); }
  std::shared_ptr<Arena> arena() const override { return arena_; }
  int rank() const override { return pipe_.rank(); }
  int ranks() const override { return pipe_.ranks(); }

 private:
  /// Where it lies, and whose it is.
  struct Place {
    std::shared_ptr<SharedMemory> memory;
    HostMemory& host;        ///< in it
    std::vector<int> names;  ///< as of HostWait
    int rank;
    std::vector<std::byte*> arenas;  ///< of each rank; none
    std::shared_ptr<Arena> arena;    ///< the own one
  };
  explicit HostGroup(Place place);

  /// Whether the process of a rank, by its name, has ended.
  bool HasEnded(int name) const;
  /// Whether any other of the host's ranks has not left, and lives.
  bool OthersGoOn() const;

  /// In this rank's arena: memory for a group of so many ranks. ResourceExhausted.
  Result<std::byte*> AllocateFor(size_t ranks);

  /// After an error nobody knows who is where: it stays.
  Status Keep(Status done) {
    if (!done.ok()) failure_ = done;
    return done;
  }
  /// Ok, or that a list is not of as many ranks.
  Status CheckList(const char* what, size_t size) const;

  /// Where a rank's vectors begin in its arena, or that they lie elsewhere.
  struct Offer {
    static constexpr uint64_t kElsewhere = ~uint64_t{0};
    uint64_t in = kElsewhere;
    uint64_t out = kElsewhere;
  };

  Status ReduceSlots(const Fusion& fusion, ReduceKernel reduce, Deadline deadline);
  /// What is in the slots.
  void AddUp(const Fusion& fusion, ReduceKernel reduce) const;
  /// All tell all where their vectors lie. Who does not offer them, and is to, copies them.
  Status OfferVectors(const Fusion& fusion, bool copy, Deadline deadline);
  bool AllOffer() const;
  bool NoneOffers() const;
  Status ReduceWhereTheyLie(const Fusion& fusion, ReduceKernel reduce, Deadline deadline);
  /// Only with arenas.
  std::byte* ArenaOf(int rank) const { return arenas_[static_cast<size_t>(rank)]; }
  HostMemory& all() const { return *reinterpret_cast<HostMemory*>(memory_->data()); }

  const std::shared_ptr<SharedMemory> memory_;
  HostPipe pipe_;
  const Kernels& kernels_;
  Status failure_;
  uint32_t barriers_ = 0;
  uint32_t placed_ = 0;
  const std::vector<int> names_;
  const std::vector<std::byte*> arenas_;
  const std::shared_ptr<Arena> arena_;
  std::byte* block_ = nullptr;  ///< of the arena, that a sub-group lies in
  // Of all ranks, for the vectors that are reduced now:
  std::vector<Offer> offers_;
  std::vector<const std::byte*> copies_;  ///< in their slots, until the next exchange
};

}  // namespace tony::collective
