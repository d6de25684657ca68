// What the data thread does with a decision.
#pragma once

#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

#include "collective/base/deadline.h"
#include "collective/base/scratch.h"
#include "collective/base/status.h"
#include "collective/engine/adasum.h"
#include "collective/gpu/gpu_plane.h"
#include "collective/group/group.h"
#include "collective/request/request.h"
#include "collective/request/tensor.h"

namespace tony::collective {

/// Tensors of one decision that is no allreduce are gathered into one vector and scattered from it,
/// if there are several of them; those of an allreduce the group takes from where they are. Factors
/// are applied on the way: `prescale` to what each rank has, `postscale` to the result, after the
/// division of an average. What lies on GPUs goes to another group (gpu_plane.h), which is made at
/// the first such decision. Not thread safe: of the data thread, but for gpu().Fail().
class Execution {
 public:
  using Tensors = std::vector<Tensor>;
  /// `gpu`: for what lies on GPUs; without it that is refused.
  explicit Execution(Group& group, GpuPlane::Setup gpu = {})
      : group_(group), adasum_(group), gpu_(group, std::move(gpu)) {}

  /// `tensors`: those of this rank, as in `decision.tensors`. `outputs`: as many, for those that
  /// have one.
  /// Errors are the group's. Aborted: this rank has given a tensor up. ResourceExhausted: no memory
  /// here. The other ranks' operation ends then as if this one had. After any but InvalidArgument
  /// nothing is done any more: the other ranks are elsewhere.
  Status Run(const Decision& decision, const std::vector<Tensor>& tensors,
             std::vector<Output>& outputs, Deadline deadline);
  /// A decision about tensors of GPUs: begins it, and tells them itself what comes of it, later.
  /// See GpuPlane::Run().
  void RunOnGpu(const Decision& decision, Tensors tensors, std::chrono::milliseconds patience);
  GpuPlane& gpu() { return gpu_; }

 private:
  using Outputs = std::vector<Output>;

  Status Choose(const Decision& decision, const Tensors& tensors, Outputs& outputs,
                Deadline deadline);
  Status AllReduce(const Decision& decision, const Tensors& tensors, Deadline deadline);
  Status Adasum(const Fusion& fusion, Deadline deadline);
  Status AllGather(const Decision& decision, const Tensors& tensors, Outputs& outputs,
                   Deadline deadline);
  Status ReduceScatter(const Decision& decision, const Tensors& tensors, Outputs& outputs,
                       Deadline deadline);
  Status ReduceScatterOne(const Kind& kind, const Tensor& tensor, Output& output,
                          Deadline deadline);
  Status AllToAll(const Decision& decision, const Tensor& tensor, Output& output,
                  Deadline deadline);
  size_t ranks() const { return static_cast<size_t>(group_.ranks()); }
  size_t me() const { return static_cast<size_t>(group_.rank()); }

  Group& group_;
  collective::Adasum adasum_;
  Scratch fusion_;
  Scratch fused_result_;
  Status failure_;
  GpuPlane gpu_;
};

}  // namespace tony::collective
