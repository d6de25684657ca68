// Which GPU is this rank's, and what it takes to use it.
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

/// A rank's GPU is the one that its tensors lie on, which the driver knows: neither the rank's
/// number nor an environment variable says it for sure. One GPU for each rank, as NCCL wants it.
/// NVIDIA's libraries are opened when they are needed first. Thread safe.
class RankGpu {
 public:
  explicit RankGpu(GpuOptions options) : options_(std::move(options)) {}

  /// `data`, said to be a GPU's, is to be reduced; the first one's GPU is this rank's.
  /// Empty, or why that cannot be: no driver, memory of no GPU, of another one than before.
  std::string Locate(const void* data);
  /// Of a rank that may have no tensors, as its program counts GPUs; below 0: it does not say.
  void Suggest(int ordinal);

  struct Opened {
    std::shared_ptr<const NcclLibrary> nccl;
    std::shared_ptr<Device> device;
  };
  /// FailedPrecondition: no driver, no GPU, no NCCL, or it is not known which GPU. The codes of
  /// Device::Open().
  Result<Opened> Open();

  /// When what this rank's GPU was given last for any group is done; null: nothing. Several of
  /// NCCL's groups on a GPU at once could wait for each other, so one follows the other. Of the
  /// data thread.
  std::shared_ptr<Event> last;

 private:
  /// Under the mutex.
  Result<std::shared_ptr<const CudaDriver>> Driver();
  Result<int> Ordinal(const CudaDriver& driver) const;

  const GpuOptions options_;
  std::mutex mutex_;
  std::shared_ptr<const CudaDriver> driver_;  ///< null: not yet, or there is none
  std::shared_ptr<const NcclLibrary> nccl_;
  std::shared_ptr<Device> device_;
  int located_ = -1;
  int suggested_ = -1;
};

}  // namespace tony::collective
