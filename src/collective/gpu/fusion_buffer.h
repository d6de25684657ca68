// A buffer in a GPU's memory that makes one vector of several tensors.
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

/// Each tensor begins at a multiple of 16 bytes, where the GPU copies fastest. The bytes between
/// two tensors are reduced, too, and nobody reads them. Not thread safe.
class FusionBuffer {
 public:
  struct Tensor {
    const void* in;  ///< null: this rank has no such tensor and contributes zeros
    void* out;       ///< null: this rank does not want the result
    size_t bytes;
  };

  /// Allocates the buffer. `copies` must outlive it. ResourceExhausted – the GPU does not have
  /// `capacity` bytes left.
  static Result<std::unique_ptr<FusionBuffer>> Create(std::shared_ptr<Device> device,
                                                      BatchedCopy& copies, size_t capacity);

  /// The number of bytes that the tensors take in the buffer.
  static size_t BytesFor(std::span<const Tensor> tensors);

  /// Queues on the stream: copies each tensor's `in`, times `factor`, to its place in the buffer.
  /// InvalidArgument – the tensors do not fit. More codes: those of BatchedCopy::Run().
  Status Gather(std::span<const Tensor> tensors, DataType type, double factor, Stream& stream);
  /// Queues on the stream: copies each tensor's part of the buffer, times `factor`, to its `out`.
  /// The codes are those of Gather().
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
