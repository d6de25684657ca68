// Opens a GPU and makes it the current one of a thread.
#pragma once

#include <memory>
#include <string>

#include "collective/base/status.h"
#include "collective/gpu/cuda_driver.h"

namespace tony::collective {

/// Holds the GPU's primary context. CUDA's runtime uses the same one, so it is shared with the
/// framework. Thread safe.
class Device {
 public:
  /// Opens a GPU. `ordinal`: its number among the GPUs that this process sees, from 0.
  /// InvalidArgument – there are fewer GPUs. Internal, ResourceExhausted – CUDA refuses.
  static Result<std::shared_ptr<Device>> Open(std::shared_ptr<const CudaDriver> driver,
                                              int ordinal);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// Makes the device's context current for this thread; the destructor restores the context from
  /// before.
  class Current {
   public:
    explicit Current(const Device& device) : driver_(device.driver()) {
      pushed_ = driver_.PushCurrent(device.context_) == kCudaSuccess;
    }
    ~Current() {
      CudaContext context = nullptr;
      if (pushed_) driver_.PopCurrent(&context);
    }
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

   private:
    const CudaDriver& driver_;
    bool pushed_;
  };

  const CudaDriver& driver() const { return *driver_; }
  int ordinal() const { return ordinal_; }
  CudaDevice handle() const { return handle_; }
  /// NVIDIA's name of the GPU, like "NVIDIA H100 80GB HBM3".
  std::string name() const;

 private:
  Device(std::shared_ptr<const CudaDriver> driver, int ordinal, CudaDevice handle,
         CudaContext context)
      : driver_(std::move(driver)), ordinal_(ordinal), handle_(handle), context_(context) {}

  const std::shared_ptr<const CudaDriver> driver_;
  const int ordinal_;
  const CudaDevice handle_;
  const CudaContext context_;
};

}  // namespace tony::collective
