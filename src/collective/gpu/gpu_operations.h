// What is done with a decision about tensors of GPUs.
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

/// Puts it on the group's stream. Averages of floating-point types are NCCL's, which divides before
/// it adds; those of integers are sums that the copy kernel multiplies, as CPUs do. Not thread
/// safe.
class GpuOperations {
 public:
  /// Memory of the GPU that belongs to an operation.
  struct Results {
    std::vector<Output> outputs;  ///< one for each tensor; without data where it has none
    std::vector<std::shared_ptr<std::byte[]>> kept;  ///< until the operation is done
  };

  /// The group is deferred.
  GpuOperations(NcclGroup& group, std::shared_ptr<Device> device)
      : group_(group), device_(std::move(device)) {}

  /// Ok, or why no rank's GPU can do it, whatever its tensors. `limitation`: of the ranks' kernels.
  /// InvalidArgument: Adasum, int16 and uint16. FailedPrecondition: a factor, but no kernel.
  static Status Refusal(const Kind& kind, const std::string& limitation);
  const std::shared_ptr<Device>& device() const { return device_; }
  /// One tensor, but for allreduces. Codes of NcclGroup's; ResourceExhausted: no memory on the GPU.
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
  /// Null where there are none.
  Result<std::shared_ptr<std::byte[]>> Allocate(size_t bytes);
  Status MakeOutput(const Tensor& tensor, size_t rows, Output& output);
  size_t ranks() const { return static_cast<size_t>(group_.ranks()); }
  size_t me() const { return static_cast<size_t>(group_.rank()); }

  NcclGroup& group_;
  const std::shared_ptr<Device> device_;
};

}  // namespace tony::collective
