// Finds out which GPU this rank uses, and opens it.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "collective/base/status.h"
#include "collective/gpu/cuda_driver.h"
#include "collective/gpu/device.h"
#include "collective/gpu/nccl_library.h"
#include "collective/gpu/options.h"
#include "collective/gpu/stream.h"

namespace tony::collective {

/// A rank's GPU is the one that its tensors lie on. The driver knows that for each pointer; a
/// rank's number or an environment variable does not say it for sure. Each rank has one GPU, as
/// NCCL requires. NVIDIA's libraries are opened when they are first needed. Thread safe.
class RankGpu {
 public:
  explicit RankGpu(GpuOptions options) : options_(std::move(options)) {}

  /// Reports that `data`, said to be in GPU memory, is to be reduced. The GPU of the first such
  /// pointer becomes this rank's. Returns empty, or why `data` cannot be used: there is no driver,
  /// the memory is of no GPU, or it is of another GPU than before.
  std::string Locate(const void* data);
  /// Suggests a GPU for a rank that may have no tensors. `ordinal`: as its program counts GPUs;
  /// below 0: the rank does not say.
  void Suggest(int ordinal);

  struct Opened {
    std::shared_ptr<const NcclLibrary> nccl;
    std::shared_ptr<Device> device;
  };
  /// Opens NVIDIA's libraries and the rank's GPU. FailedPrecondition – there is no driver, no GPU
  /// or no NCCL, or it is unknown which GPU. More codes: those of Device::Open().
  Result<Opened> Open();

  /// Fires when the last operation that any group gave to this rank's GPU is done. Null: there was
  /// none. NCCL groups that run on a GPU at the same time could wait for each other, so each
  /// operation waits for the one before. Used by the data thread only.
  std::shared_ptr<Event> last;

 private:
  /// Loads the driver. The caller holds the mutex.
  Result<std::shared_ptr<const CudaDriver>> Driver();
  Result<int> Ordinal(const CudaDriver& driver) const;

  const GpuOptions options_;
  std::mutex mutex_;
  std::shared_ptr<const CudaDriver> driver_;  ///< null: not loaded yet, or there is none
  std::shared_ptr<const NcclLibrary> nccl_;
  std::shared_ptr<Device> device_;
  int located_ = -1;
  int suggested_ = -1;
};

}  // namespace tony::collective
