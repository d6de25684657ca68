// One vector in a GPU's memory for the tensors of one operation.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "collective/arithmetic/data_type.h"
#include "collective/base/status.h"
#include "collective/gpu/batched_copy.h"
#include "collective/gpu/device_memory.h"
#include "collective/gpu/stream.h"

namespace tony::collective {

/// Each tensor begins at a multiple of 16 bytes, where the GPU copies fastest; what lies between is
/// reduced along and read by nobody. Not thread safe.
class FusionBuffer {
 public:
  struct Tensor {
    const void* in;  ///< null: this rank has none, and takes part with zeros
    void* out;       ///< null: this rank does not want the result
    size_t bytes;
  };

  /// `copies` outlives it. ResourceExhausted: the GPU has not `capacity` bytes left.
  static Result<std::unique_ptr<FusionBuffer>> Create(std::shared_ptr<Device> device,
                                                      BatchedCopy& copies, size_t capacity);

  /// So many bytes the tensors take.
  static size_t BytesFor(std::span<const Tensor> tensors);

  /// Puts on the stream: each tensor's `in`, times `factor`, to its place in the buffer.
  /// InvalidArgument: they do not fit. Others as of BatchedCopy::Run.
  Status Gather(std::span<const Tensor> tensors, DataType type, double factor, Stream& stream);
  /// Puts on the stream: the buffer, times `factor`, to each tensor's `out`.
  Status Scatter(std::span<const Tensor> tensors, DataType type, double factor, Stream& stream);

  void* data() const { return memory_->data(); }
  size_t capacity() const { return memory_->size(); }

 private:
  FusionBuffer(std::shared_ptr<Device> device, BatchedCopy& copies,
               std::unique_ptr<DeviceMemory> memory);
  Status Fits(std::span<const Tensor> tensors) const;

  const std::shared_ptr<Device> device_;
  BatchedCopy& copies_;
  const std::unique_ptr<DeviceMemory> memory_;
  std::vector<Copy> list_;
};

}  // namespace tony::collective
