// A GPU that this process works on.
#pragma once

#include <memory>
#include <string>

#include "collective/base/status.h"
#include "collective/gpu/cuda_driver.h"

namespace tony::collective {

/// The GPU's primary context, which it shares with the framework: CUDA's runtime uses the same.
/// Thread safe.
class Device {
 public:
  /// `ordinal` counts the GPUs that this process sees.
  /// InvalidArgument: there are fewer. Internal, ResourceExhausted: CUDA refuses.
  static Result<std::shared_ptr<Device>> Open(std::shared_ptr<const CudaDriver> driver,
                                              int ordinal);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// While it lives, this thread's calls are about the device; afterwards about what they were
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
  /// As NVIDIA calls it: "NVIDIA H100 80GB HBM3".
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
