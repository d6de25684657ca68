// Turns the tensors into a list of copies for BatchedCopy. Both directions walk the tensors in the
// same order, so that the places agree.
#include "collective/gpu/fusion_buffer.h"

#include <string>
#include <utility>

namespace tony::collective {
namespace {

constexpr size_t kAlignment = 16;

size_t Aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

Result<std::unique_ptr<FusionBuffer>> FusionBuffer::Create(std::shared_ptr<Device> device,
                                                           BatchedCopy& copies, size_t capacity) {
  auto memory = DeviceMemory::Allocate(device, Aligned(capacity));
  if (!memory.ok()) return memory.status();
  return std::unique_ptr<FusionBuffer>(
      new FusionBuffer(std::move(device), copies, std::move(*memory)));
}

FusionBuffer::FusionBuffer(std::shared_ptr<Device> device, BatchedCopy& copies,
                           std::unique_ptr<DeviceMemory> memory)
    : device_(std::move(device)), copies_(copies), memory_(std::move(memory)) {}

size_t FusionBuffer::BytesFor(std::span<const Tensor> tensors) {
  size_t bytes = 0;
  for (const Tensor& tensor : tensors) bytes += Aligned(tensor.bytes);
  return bytes;
}

Status FusionBuffer::Fits(std::span<const Tensor> tensors) const {
  const size_t bytes = BytesFor(tensors);
  if (bytes <= capacity()) return {};
  return {Code::kInvalidArgument, std::to_string(tensors.size()) + " tensors of " +
                                      std::to_string(bytes) + " bytes do not fit into the " +
                                      std::to_string(capacity()) +
                                      " bytes of the GPU's fusion buffer"};
}

Status FusionBuffer::Gather(std::span<const Tensor> tensors, DataType type, double factor,
                            Stream& stream) {
  if (Status fits = Fits(tensors); !fits.ok()) return fits;
  const Device::Current current(*device_);
  auto* at = static_cast<std::byte*>(data());
  list_.clear();
  for (const Tensor& tensor : tensors) {
    if (tensor.in != nullptr) {
      list_.push_back({tensor.in, at, tensor.bytes});
    } else if (tensor.bytes > 0) {
      const CudaDriver& driver = device_->driver();
      Status cleared = driver.Check(
          driver.FillAsync(reinterpret_cast<CudaAddress>(at), 0, tensor.bytes, stream.handle()),
          "clear a part of the GPU's fusion buffer");
      if (!cleared.ok()) return cleared;
    }
    at += Aligned(tensor.bytes);
  }
  return copies_.Run(list_, type, factor, stream);
}

Status FusionBuffer::Scatter(std::span<const Tensor> tensors, DataType type, double factor,
                             Stream& stream) {
  if (Status fits = Fits(tensors); !fits.ok()) return fits;
  const auto* at = static_cast<const std::byte*>(data());
  list_.clear();
  for (const Tensor& tensor : tensors) {
    if (tensor.out != nullptr) list_.push_back({at, tensor.out, tensor.bytes});
    at += Aligned(tensor.bytes);
  }
  return copies_.Run(list_, type, factor, stream);
}

}  // namespace tony::collective
