// Collective operations among the ranks of one host, through shared memory.
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

/// Every algorithm adds the ranks in ascending order. The windows of a subgroup lie in the arena of
/// its first rank, which all ranks of the host have mapped. Not thread safe: owned by one rank's
/// data thread. Only Fail() and Leave() may be called from another thread.
class HostGroup : public Group {
 public:
  /// Makes the memory for a group of `ranks` ranks. Each other rank maps it with SharedMemory::Map.
  /// The codes are those of SharedMemory::Create.
  static Result<std::unique_ptr<SharedMemory>> CreateMemory(int ranks);
  /// `rank`: the own rank on this host, from 0.
  /// InvalidArgument: the memory was made for another number of ranks, or `rank` is out of range.
  static Result<std::unique_ptr<HostGroup>> Join(std::shared_ptr<SharedMemory> memory, int rank,
                                                 int ranks);

  /// Frees the arenas of processes that have ended without freeing their buffers. Otherwise these
  /// buffers would take memory as long as any process keeps a buffer of its own. Only the last rank
  /// to leave does so: subgroups lie in the arenas, too, and other ranks may still fetch there what
  /// the ended process has done last.
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
  /// A rank's place in a group: its memory, its arenas and its rank.
  struct Place {
    std::shared_ptr<SharedMemory> memory;
    HostMemory& host;                ///< the group's part of `memory`
    std::vector<int> names;          ///< as for HostWait
    int rank;                        ///< the own rank in the group
    std::vector<std::byte*> arenas;  ///< beginning of each rank's arena; empty: no arenas
    std::shared_ptr<Arena> arena;    ///< the own arena; null: no arenas
  };
  explicit HostGroup(Place place);

  /// Whether another process that had claimed an arena has ended. `name`: the rank, as in HostWait.
  bool HasEnded(int name) const;
  /// Whether any other rank of the host has neither left nor ended.
  bool OthersGoOn() const;

  /// Allocates memory for a group of `ranks` ranks in the own arena.
  /// ResourceExhausted: the arena or the machine has not so much.
  Result<std::byte*> AllocateFor(size_t ranks);

  /// Keeps an error: after it no rank knows how far the others are, so the group stays failed.
  Status Keep(Status done) {
    if (!done.ok()) failure_ = done;
    return done;
  }
  /// InvalidArgument: a list with `size` entries does not have one for each rank. `what`: its name.
  Status CheckList(const char* what, size_t size) const;

  /// The offsets of a rank's vectors in its arena, or kElsewhere if they do not lie there.
  struct Offer {
    static constexpr uint64_t kElsewhere = ~uint64_t{0};
    uint64_t in = kElsewhere;
    uint64_t out = kElsewhere;
  };

  /// Exchanges whole vectors through the slots; each rank reduces all of them.
  Status ReduceSlots(const Fusion& fusion, ReduceKernel reduce, Deadline deadline);
  /// Reduces `copies_` and scatters the result.
  void AddUp(const Fusion& fusion, ReduceKernel reduce) const;
  /// Each rank tells all others where its vectors lie. `copy`: a rank whose vectors lie outside its
  /// arena puts a copy into its slot.
  Status OfferVectors(const Fusion& fusion, bool copy, Deadline deadline);
  bool AllOffer() const;
  bool NoneOffers() const;
  Status ReduceWhereTheyLie(const Fusion& fusion, ReduceKernel reduce, Deadline deadline);
  /// The beginning of `rank`'s arena. It is called only if there are arenas.
  std::byte* ArenaOf(int rank) const { return arenas_[static_cast<size_t>(rank)]; }
  /// The memory of the host's whole group.
  HostMemory& all() const { return *reinterpret_cast<HostMemory*>(memory_->data()); }

  const std::shared_ptr<SharedMemory> memory_;
  HostPipe pipe_;
  const Kernels& kernels_;
  Status failure_;
  uint32_t barriers_ = 0;         ///< own count of RankLine::barrier
  uint32_t placed_ = 0;           ///< own count of RankLine::placed
  const std::vector<int> names_;  ///< as for HostWait
  const std::vector<std::byte*> arenas_;
  const std::shared_ptr<Arena> arena_;
  /// The block of the own arena in which this subgroup lies. Null: none, or another rank's.
  std::byte* block_ = nullptr;
  // State of the current allreduce, by rank:
  std::vector<Offer> offers_;
  std::vector<const std::byte*> copies_;  ///< vectors in the slots, valid until the next exchange
};

}  // namespace tony::collective
