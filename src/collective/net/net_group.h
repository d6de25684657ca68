// Collective operations over TCP, among ranks that share no memory.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "collective/arithmetic/kernels.h"
#include "collective/base/scratch.h"
#include "collective/group/group.h"
#include "collective/group/switch_points.h"
#include "collective/net/net_mesh.h"

namespace tony::collective {

struct NetReduction;

/// Each rank has a connection to each other rank, so data goes directly to the rank that wants it.
/// Every algorithm adds the ranks in ascending order, as HostGroup does, so the result has the same
/// bits whichever algorithm is taken. Not thread safe: owned by one rank's data thread. Only Fail()
/// and Leave() may be called from another thread.
class NetGroup : public Group {
 public:
  /// `members`: the mesh's ranks that form this group, the own one among them. Errors name ranks by
  /// their number in the mesh. All ranks must use the groups of one mesh in the same order.
  NetGroup(std::shared_ptr<NetMesh> mesh, std::vector<int> members, SwitchPoints points);

  Status AllReduce(const void* in, void* out, size_t count, DataType type, ReduceOp op,
                   Deadline deadline) override;
  Status Barrier(Deadline deadline) override;
  Status AllGather(const void* in, void* out, const std::vector<size_t>& bytes,
                   Deadline deadline) override;
  Status Broadcast(void* data, size_t bytes, int root, Deadline deadline) override;
  Status ReduceScatter(const void* in, void* out, const std::vector<size_t>& counts, DataType type,
                       ReduceOp op, Deadline deadline) override;
  Status AllToAll(const void* in, const std::vector<size_t>& sent, void* out,
                  const std::vector<size_t>& received, Deadline deadline) override;
  Result<std::unique_ptr<Group>> Subgroup(const std::vector<int>& members,
                                          Deadline deadline) override;
  std::optional<Ways> ways() const override {
    return Ways{.points = points_,
                .tunable = {&SwitchPoints::whole_bytes, &SwitchPoints::window_bytes}};
  }
  void SetPoints(const SwitchPoints& points) override { points_ = points; }
  void Fail(int rank) override { mesh_->Fail(members_[static_cast<size_t>(rank)]); }
  void Leave() override { mesh_->Leave(); }
  int rank() const override { return rank_; }
  int ranks() const override { return static_cast<int>(members_.size()); }

 private:
  /// An allreduce of a short vector: an all-gather of the whole vectors, then a reduction of all of
  /// them by each rank.
  Status ReduceWhole(const NetReduction& work, Deadline deadline);
  Status GatherDirectly(const NetReduction& work, Deadline deadline);
  Status GatherByDoubling(const NetReduction& work, Deadline deadline);
  Status ReduceInPieces(const NetReduction& work, Deadline deadline);
  void ReducePiece(const NetReduction& work, size_t piece, size_t slot_bytes);
  /// The place in `scratch_` where `rank`'s part of `piece` is received. `bytes`: size of a slot.
  std::byte* SlotOf(int rank, size_t piece, size_t bytes);
  Status BroadcastDownTree(std::byte* data, size_t bytes, int root, Deadline deadline);
  Status ScatterFromRoot(std::byte* data, size_t bytes, int root, Deadline deadline);

  void Send(int to, const std::byte* data, size_t bytes) {
    mesh_->Send(members_[static_cast<size_t>(to)], data, bytes);
  }
  NetMesh::TransferHandle Receive(int from, std::byte* data, size_t bytes) {
    return mesh_->Receive(members_[static_cast<size_t>(from)], data, bytes);
  }
  /// Calls `call` for each other rank, beginning after the own one, so that not all ranks begin
  /// with the same rank.
  void ForOthers(const std::function<void(int)>& call) const;

  const std::shared_ptr<NetMesh> mesh_;
  const std::vector<int> members_;
  SwitchPoints points_;
  const int rank_;
  const Kernels& kernels_;
  Scratch scratch_;
};

}  // namespace tony::collective
