// Default implementations for groups without better ones: AllReduceFused() gathers the tensors into
// one vector, and Subgroup() is refused.
#include "collective/group/group.h"

namespace tony::collective {

Status Group::AllReduceFused(const Fusion& fusion, ReduceOp op, Deadline deadline) {
  const std::span<const Fusion::Tensor> tensors = fusion.tensors();
  // A single tensor is reduced in its result's memory, which saves the second vector.
  void* const only = tensors.size() == 1 ? tensors[0].out : nullptr;
  auto* const vector =
      only != nullptr ? static_cast<std::byte*>(only) : fused_.Take(fusion.bytes());
  fusion.Gather(0, fusion.bytes(), vector);
  Status done = AllReduce(vector, vector, fusion.count(), fusion.type(), op, deadline);
  if (!done.ok()) return done;
  if (only != nullptr) {
    fusion.Finish(vector, fusion.bytes());
  } else {
    fusion.Scatter(0, fusion.bytes(), vector, false);
  }
  return {};
}

Result<std::unique_ptr<Group>> Group::Subgroup(const std::vector<int>&, Deadline) {
  return Status(Code::kFailedPrecondition, "ranks that are connected so have no process sets");
}

}  // namespace tony::collective
