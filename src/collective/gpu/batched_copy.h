// Copies within a GPU's memory, many at once.
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

/// `to` may be `from`, and does not overlap it, or another copy, otherwise. Whole elements.
struct Copy {
  const void* from;
  void* to;
  size_t bytes;
};

/// By a kernel that takes up to 160 copies, which for small tensors is one launch instead of 160;
/// without it by a copy of the driver's for each. Not thread safe.
class BatchedCopy {
 public:
  /// `ptx`: CopyKernelPtx(), or empty.
  BatchedCopy(std::shared_ptr<Device> device, std::string_view ptx);
  ~BatchedCopy();
  BatchedCopy(const BatchedCopy&) = delete;
  BatchedCopy& operator=(const BatchedCopy&) = delete;

  /// Empty, or a sentence that says why there is no kernel, to be told when ranks start.
  const std::string& limitation() const { return limitation_; }
  /// Puts the copies on the stream, each element times `factor`: integers cut to whole numbers,
  /// bool unchanged. FailedPrecondition: a factor, but no kernel. Internal: CUDA refuses.
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
