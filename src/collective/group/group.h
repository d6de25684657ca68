// Collective operations on data: what ranks that have agreed on an operation do with it.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "collective/arithmetic/data_type.h"
#include "collective/arithmetic/fusion.h"
#include "collective/base/deadline.h"
#include "collective/base/scratch.h"
#include "collective/base/status.h"
#include "collective/group/arena.h"
#include "collective/group/switch_points.h"

namespace tony::collective {

/// The ranks of a group, which count from 0. All call the same operations in the same order with
/// the same count, type and operation: who negotiates sees to that. A result has the same bits on
/// all of them. After an error other than InvalidArgument the group has failed, and each call says
/// so. Not thread safe: of one rank's data thread. Only Fail() and Leave() may come from another
/// one.
class Group {
 public:
  Group() = default;
  virtual ~Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  /// out[i] = in[i] of rank 0 op in[i] of rank 1 op …, for `count` elements; between hosts that
  /// have several ranks each, rank after rank within each host, then host after host. `out` may be
  /// `in`, and does not overlap it otherwise. DeadlineExceeded, Aborted: a rank did not come, or
  /// has ended; `out` is then undefined.
  virtual Status AllReduce(const void* in, void* out, size_t count, DataType type, ReduceOp op,
                           Deadline deadline) = 0;
  /// `out`: all ranks' `in`, rank after rank; `bytes[r]` are of rank r (0 allowed). `in` may lie
  /// where it belongs in `out`.
  /// For this and what follows: InvalidArgument where a list is not of as many ranks, or there is
  /// no such root; otherwise as above.
  virtual Status AllGather(const void* in, void* out, const std::vector<size_t>& bytes,
                           Deadline deadline) = 0;
  /// `data` of `root` to all others' `data`.
  virtual Status Broadcast(void* data, size_t bytes, int root, Deadline deadline) = 0;
  /// `in`: counts[0] + counts[1] + … elements; `out`: the counts[rank()] of them that belong to
  /// this rank, reduced. No overlap.
  virtual Status ReduceScatter(const void* in, void* out, const std::vector<size_t>& counts,
                               DataType type, ReduceOp op, Deadline deadline) = 0;
  /// Of `in` sent[0] bytes to rank 0, then sent[1] to rank 1, …; `out`: received[0] bytes of rank
  /// 0, … No overlap.
  virtual Status AllToAll(const void* in, const std::vector<size_t>& sent, void* out,
                          const std::vector<size_t>& received, Deadline deadline) = 0;
  /// The same for several tensors at once, with factors.
  virtual Status AllReduceFused(const Fusion& fusion, ReduceOp op, Deadline deadline);
  /// Until all have come.
  virtual Status Barrier(Deadline deadline) = 0;

  /// Buffers that the ranks can reach in each other's memory: an allreduce of them needs no copy,
  /// if those of all ranks are such. Null: there are none.
  virtual std::shared_ptr<Arena> arena() const { return nullptr; }

  /// A group of some of these ranks: `members`, in ascending order, become 0, 1, …; who is none of
  /// them gets null. All ranks of this group call it. What ends this one's operations ends those of
  /// the other, too; it lives as long at least. Errors name ranks as this group's do.
  /// FailedPrecondition, ResourceExhausted: it cannot be made. All ranks are told the same, and
  /// this group goes on. Otherwise as above.
  virtual Result<std::unique_ptr<Group>> Subgroup(const std::vector<int>& members,
                                                  Deadline deadline);
  /// At which sizes operations take another way, where they have several.
  struct Ways {
    SwitchPoints points;
    /// Which of them make a difference to reductions here.
    std::vector<size_t SwitchPoints::*> tunable;
  };
  virtual std::optional<Ways> ways() const { return std::nullopt; }
  /// Later operations, and groups that are made of this one later, use these. All ranks call it
  /// between the same two operations. The number of streams stays as it is.
  virtual void SetPoints(const SwitchPoints& points) { static_cast<void>(points); }

  /// Nobody uses it any more, so the memory that it shares may be given back. Not called by a group
  /// that goes with all: there others may still be fetching.
  virtual void Retire() {}

  /// Ends what waits, here and at the others: `rank` has ended.
  virtual void Fail(int rank) = 0;
  /// Nothing of this rank will follow: who waits for it fails, but not who is still fetching what
  /// it has done.
  virtual void Leave() = 0;

  virtual int rank() const = 0;
  virtual int ranks() const = 0;

 private:
  Scratch fused_;
};

}  // namespace tony::collective
