// The interface of collective operations on data, once the ranks have agreed on an operation.
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

/// A group of ranks, numbered from 0. All ranks call the same operations in the same order with the
/// same count, type and operation; the engine's negotiation ensures that. A result has the same
/// bits on all ranks. After an error other than InvalidArgument the group has failed, and each
/// later call reports that. Not thread safe: owned by one rank's data thread. Only Fail() and
/// Leave() may be called from another thread.
class Group {
 public:
  Group() = default;
  virtual ~Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  /// out[i] = in[i] of rank 0 op in[i] of rank 1 op …, for `count` elements. Between hosts with
  /// several ranks each, the order is rank after rank within each host, then host after host. `out`
  /// may be `in`, and must not overlap it otherwise. DeadlineExceeded – a rank did not come in
  /// time. Aborted – a rank has ended. After either, `out` is undefined.
  virtual Status AllReduce(const void* in, void* out, size_t count, DataType type, ReduceOp op,
                           Deadline deadline) = 0;
  /// `out` gets all ranks' `in`, rank after rank; rank r has `bytes[r]` bytes (0 is allowed). `in`
  /// may lie at its own place in `out`.
  ///
  /// This operation and those below return InvalidArgument – a list does not have one entry for
  /// each rank, or there is no such root. More codes: those of AllReduce().
  virtual Status AllGather(const void* in, void* out, const std::vector<size_t>& bytes,
                           Deadline deadline) = 0;
  /// Copies `data` of rank `root` to `data` of all other ranks.
  virtual Status Broadcast(void* data, size_t bytes, int root, Deadline deadline) = 0;
  /// `in`: counts[0] + counts[1] + … elements. `out` gets this rank's counts[rank()] elements of
  /// their reduction. `in` and `out` must not overlap.
  virtual Status ReduceScatter(const void* in, void* out, const std::vector<size_t>& counts,
                               DataType type, ReduceOp op, Deadline deadline) = 0;
  /// Sends sent[0] bytes of `in` to rank 0, the next sent[1] bytes to rank 1, and so on. `out` gets
  /// received[0] bytes from rank 0, then received[1] bytes from rank 1, and so on. `in` and `out`
  /// must not overlap.
  virtual Status AllToAll(const void* in, const std::vector<size_t>& sent, void* out,
                          const std::vector<size_t>& received, Deadline deadline) = 0;
  /// AllReduce() of several tensors at once, with factors.
  virtual Status AllReduceFused(const Fusion& fusion, ReduceOp op, Deadline deadline);
  /// Waits until all ranks have called it.
  virtual Status Barrier(Deadline deadline) = 0;

  /// An arena whose buffers the ranks can reach in each other's memory. An allreduce needs no copy
  /// if the vectors of all ranks are such buffers. Null: there is no arena.
  virtual std::shared_ptr<Arena> arena() const { return nullptr; }

  /// Makes a group of some of these ranks. `members`: in ascending order; they become ranks 0, 1, …
  /// of the new group. All ranks of this group call it; a rank that is no member gets null. An
  /// event that ends this group's operations ends those of the new group, too. This group must
  /// outlive the new one. Errors name ranks by this group's names. FailedPrecondition,
  /// ResourceExhausted – the group cannot be made; all ranks get the same error, and this group
  /// goes on. More codes: those of AllReduce().
  virtual Result<std::unique_ptr<Group>> Subgroup(const std::vector<int>& members,
                                                  Deadline deadline);
  /// The sizes at which operations switch to another algorithm, for groups that have several.
  struct Ways {
    SwitchPoints points;
    /// The members of `points` that affect reductions in this group.
    std::vector<size_t SwitchPoints::*> tunable;
  };
  virtual std::optional<Ways> ways() const { return std::nullopt; }
  /// Sets the switch points of later operations, and of groups that are made of this one later. All
  /// ranks call it between the same two operations. The number of streams stays as it is.
  virtual void SetPoints(const SwitchPoints& points) { static_cast<void>(points); }

  /// Tells the group that no rank uses it any more, so that its shared memory may be given back. It
  /// is not called when the whole job ends: then other ranks may still be fetching.
  virtual void Retire() {}

  /// Ends all waits, on this rank and on all others: `rank` has ended.
  virtual void Fail(int rank) = 0;
  /// Announces that this rank does nothing more. Ranks that wait for it fail, but ranks that are
  /// still fetching the data of its last operations do not.
  virtual void Leave() = 0;

  virtual int rank() const = 0;
  virtual int ranks() const = 0;

 private:
  Scratch fused_;
};

}  // namespace tony::collective
