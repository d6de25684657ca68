// Carries out decisions about tensors on GPUs as operations of an NcclGroup.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "collective/base/deadline.h"
#include "collective/base/status.h"
#include "collective/gpu/nccl_group.h"
#include "collective/request/request.h"
#include "collective/request/tensor.h"

namespace tony::collective {

/// Queues operations on the group's stream. Averages of floating-point types are NCCL's, which
/// divides before it adds. Averages of integers are sums that the copy kernel multiplies, as on
/// CPUs. Not thread safe.
class GpuOperations {
 public:
  /// GPU memory that belongs to an operation.
  struct Results {
    std::vector<Output> outputs;  ///< one for each tensor; no data if the operation makes none
    std::vector<std::shared_ptr<std::byte[]>> kept;  ///< scratch until the operation is done
  };

  /// `group` returns before operations are done: its Defer(true) was called.
  GpuOperations(NcclGroup& group, std::shared_ptr<Device> device)
      : group_(group), device_(std::move(device)) {}

  /// Ok, or why GPUs cannot do operations of this kind, whatever the tensors are. `limitation`:
  /// that of the ranks' copy kernels. InvalidArgument – Adasum, int16 or uint16. FailedPrecondition
  /// – there is a factor, but no kernel.
  static Status Refusal(const Kind& kind, const std::string& limitation);
  const std::shared_ptr<Device>& device() const { return device_; }
  /// Queues the decision's operation. Only an allreduce may have several tensors. The codes are
  /// those of NcclGroup; ResourceExhausted – the GPU has no memory left.
  Status Begin(const Decision& decision, const std::vector<Tensor>& tensors, Results& results,
               Deadline deadline);

 private:
  Status AllReduce(const Decision& decision, const std::vector<Tensor>& tensors, Deadline deadline);
  Status AllGather(const Decided& decided, const Tensor& tensor, Results& results,
                   Deadline deadline);
  Status Broadcast(const Kind& kind, const Tensor& tensor, Deadline deadline);
  Status ReduceScatter(const Kind& kind, const Tensor& tensor, Results& results, Deadline deadline);
  Status AllToAll(const Decided& decided, const Tensor& tensor, Results& results,
                  Deadline deadline);
  /// Allocates GPU memory. Null if `bytes` is 0.
  Result<std::shared_ptr<std::byte[]>> Allocate(size_t bytes);
  Status MakeOutput(const Tensor& tensor, size_t rows, Output& output);
  size_t ranks() const { return static_cast<size_t>(group_.ranks()); }
  size_t me() const { return static_cast<size_t>(group_.rank()); }

  NcclGroup& group_;
  const std::shared_ptr<Device> device_;
};

}  // namespace tony::collective
