// Launches the kernel on a grid: blocks in y are copies, blocks in x share one copy.
#include "collective/gpu/batched_copy.h"

#include <algorithm>
#include <utility>

#include "collective/gpu/copy_batch.h"

namespace tony::collective {
namespace {

/// Bytes of one copy for one block: four 16-byte units for each of its threads.
constexpr size_t kBytesPerBlock = size_t{kCopyThreads} * 16 * 4;

CudaAddress Address(const void* data) { return reinterpret_cast<CudaAddress>(data); }

}  // namespace

BatchedCopy::BatchedCopy(std::shared_ptr<Device> device, std::string_view ptx)
    : device_(std::move(device)) {
  // The driver compiles the PTX for its GPU here. A missing kernel is no error: Run() then copies
  // one by one and refuses factors.
  std::string why = "this build has none, since it found no CUDA compiler";
  if (!ptx.empty()) {
    const Device::Current current(*device_);
    const CudaDriver& driver = device_->driver();
    CudaResult result = driver.ModuleLoadData(&module_, ptx.data());
    if (result == kCudaSuccess) result = driver.ModuleGetFunction(&kernel_, module_, kCopyKernel);
    if (result == kCudaSuccess) return;
    why = "the driver does not take it, " + driver.NameOf(result);
  }
  kernel_ = nullptr;
  limitation_ = "no kernel for fused copies (" + why +
                "): small tensors on GPUs are copied one by one, and no factors are applied there";
}

BatchedCopy::~BatchedCopy() {
  const Device::Current current(*device_);
  if (module_ != nullptr) device_->driver().ModuleUnload(module_);
}

Status BatchedCopy::Run(std::span<const Copy> copies, DataType type, double factor,
                        Stream& stream) {
  const Device::Current current(*device_);
  if (kernel_ == nullptr) {
    // Factors do not change bool, so bool needs no kernel.
    if (factor != 1 && type != DataType::kBool) {
      return {Code::kFailedPrecondition, "values on GPUs cannot be multiplied by " +
                                             std::to_string(factor) + ": " + limitation_ +
                                             "; multiply them in the framework"};
    }
    return RunOneByOne(copies, stream);
  }
  for (size_t begin = 0; begin < copies.size(); begin += kCopiesPerBatch) {
    const size_t some = std::min<size_t>(kCopiesPerBatch, copies.size() - begin);
    Status launched = RunKernel(copies.subspan(begin, some), type, factor, stream);
    if (!launched.ok()) return launched;
  }
  return {};
}

Status BatchedCopy::RunKernel(std::span<const Copy> copies, DataType type, double factor,
                              Stream& stream) {
  CopyBatch batch;
  batch.factor = factor;
  batch.type = type;
  batch.copies = static_cast<unsigned>(copies.size());
  size_t longest = 0;
  for (size_t i = 0; i < copies.size(); ++i) {
    batch.from[i] = copies[i].from;
    batch.to[i] = copies[i].to;
    batch.bytes[i] = copies[i].bytes;
    longest = std::max(longest, copies[i].bytes);
  }
  // The longest copy sets the number of blocks for all copies of the batch; blocks that find
  // nothing left to copy in a shorter one end at once.
  const size_t blocks =
      std::clamp<size_t>((longest + kBytesPerBlock - 1) / kBytesPerBlock, 1, kCopyBlocks);
  void* arguments[] = {&batch};
  const CudaDriver& driver = device_->driver();
  return driver.Check(
      driver.LaunchKernel(kernel_, static_cast<unsigned>(blocks), batch.copies, 1, kCopyThreads, 1,
                          1, 0, stream.handle(), arguments, nullptr),
      "launch the kernel for " + std::to_string(batch.copies) + " copies");
}

Status BatchedCopy::RunOneByOne(std::span<const Copy> copies, Stream& stream) {
  const CudaDriver& driver = device_->driver();
  for (const Copy& copy : copies) {
    if (copy.bytes == 0 || copy.from == copy.to) continue;
    Status copied = driver.Check(
        driver.CopyAsync(Address(copy.to), Address(copy.from), copy.bytes, stream.handle()),
        "copy " + std::to_string(copy.bytes) + " bytes on the GPU");
    if (!copied.ok()) return copied;
  }
  return {};
}

}  // namespace tony::collective
