// What the data thread does with a decision.
#pragma once

#include <cstddef>
#include <vector>

#include "collective/adasum.h"
#include "collective/deadline.h"
#include "collective/group.h"
#include "collective/request.h"
#include "collective/scratch.h"
#include "collective/status.h"
#include "collective/tensor.h"

namespace tony::collective {

/// Tensors of one decision that is no allreduce are gathered into one vector and scattered from it,
/// if there are several of them; those of an allreduce the group takes from where they are. Factors
/// are applied on the way: `prescale` to what each rank has, `postscale` to the result, after the
/// division of an average. Not thread safe: of the data thread.
class Execution {
 public:
  explicit Execution(Group& group) : group_(group), adasum_(group) {}

  /// `tensors`: those of this rank, as in `decision.tensors`; none where it has joined. `outputs`:
  /// as many, for those that have one.
  /// Errors are the group's. ResourceExhausted: no memory here; the other ranks' operation ends as
  /// if this one had. After any but InvalidArgument nothing is done any more: the other ranks are
  /// elsewhere.
  Status Run(const Decision& decision, const std::vector<Tensor>& tensors,
             std::vector<Output>& outputs, Deadline deadline);

 private:
  using Tensors = std::vector<Tensor>;
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
  /// For the group's result: that of an average is its sum.
  double FactorAfter(const Kind& kind) const;
  size_t ranks() const { return static_cast<size_t>(group_.ranks()); }
  size_t me() const { return static_cast<size_t>(group_.rank()); }

  Group& group_;
  collective::Adasum adasum_;
  Scratch fusion_;
  Scratch fused_result_;
  Status failure_;
};

}  // namespace tony::collective
