// Many copies within a GPU's memory, in few launches.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "collective/arithmetic/data_type.h"
#include "collective/base/status.h"
#include "collective/gpu/device.h"
#include "collective/gpu/stream.h"

namespace tony::collective {

/// One copy of whole elements. `to` may be `from`; otherwise it must not overlap `from` or another
/// copy.
struct Copy {
  const void* from;
  void* to;
  size_t bytes;
};

/// Copies with a kernel that takes up to 160 copies, so that 160 small tensors are one launch.
/// Without the kernel, the driver does each copy. Not thread safe.
class BatchedCopy {
 public:
  /// `ptx`: CopyKernelPtx(), or empty for no kernel.
  BatchedCopy(std::shared_ptr<Device> device, std::string_view ptx);
  ~BatchedCopy();
  BatchedCopy(const BatchedCopy&) = delete;
  BatchedCopy& operator=(const BatchedCopy&) = delete;

  /// Empty, or a sentence that says why there is no kernel; users get it when the ranks start.
  const std::string& limitation() const { return limitation_; }
  /// Queues the copies on the stream. Each element is multiplied by `factor`: integers are cut to
  /// whole numbers, bool stays unchanged. FailedPrecondition – there is a factor, but no kernel.
  /// Internal – CUDA refuses.
  Status Run(std::span<const Copy> copies, DataType type, double factor, Stream& stream);

 private:
  Status RunKernel(std::span<const Copy> copies, DataType type, double factor, Stream& stream);
  Status RunOneByOne(std::span<const Copy> copies, Stream& stream);

  const std::shared_ptr<Device> device_;
  CudaModule module_ = nullptr;
  CudaFunction kernel_ = nullptr;
  std::string limitation_;
};

}  // namespace tony::collective
