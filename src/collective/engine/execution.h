// Executes decisions on the data thread: gathers tensors, calls the group's operation, scatters the
// results.
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

/// Several tensors of one decision are gathered into one vector, and the result is scattered from
/// it. The tensors of an allreduce are not gathered: the group takes them from where they lie.
/// Factors are applied on the way: `prescale` to each rank's values, `postscale` to the result,
/// after the division of an average. Tensors on GPUs go through another group (gpu_plane.h), which
/// is made at the first decision about such tensors. Not thread safe: of the data thread, but for
/// gpu().Fail().
class Execution {
 public:
  using Tensors = std::vector<Tensor>;
  /// `gpu`: for tensors on GPUs; without it decisions about them are refused.
  explicit Execution(Group& group, GpuPlane::Setup gpu = {})
      : group_(group), adasum_(group), gpu_(group, std::move(gpu)) {}

  /// `tensors`: this rank's tensors, in the order of `decision.tensors`. `outputs`: as many
  /// elements, written for operations that have an output. Errors are the group's, and:
  /// Aborted – this rank has given a tensor up. ResourceExhausted – this rank has no memory.
  /// After these two the other ranks' operation ends as if this rank had ended. After any error but
  /// InvalidArgument each later call fails: the other ranks are at another place in the order.
  Status Run(const Decision& decision, const std::vector<Tensor>& tensors,
             std::vector<Output>& outputs, Deadline deadline);
  /// Begins a decision about tensors on GPUs. The tensors' callbacks are called later, from another
  /// thread. See GpuPlane::Run().
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
