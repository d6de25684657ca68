// A block of GPU memory with an owner that frees it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "collective/base/status.h"
#include "collective/gpu/device.h"

namespace tony::collective {

/// Owns a block of GPU memory. Freeing it waits for everything that runs on the device. Not thread
/// safe.
class DeviceMemory {
 public:
  /// Allocates `bytes` bytes, aligned to at least 256 bytes. ResourceExhausted – the device does
  /// not have that much left.
  static Result<std::unique_ptr<DeviceMemory>> Allocate(std::shared_ptr<Device> device,
                                                        size_t bytes) {
    const Device::Current current(*device);
    CudaAddress address = 0;
    Status got = device->driver().Check(
        device->driver().MemAlloc(&address, bytes),
        "allocate " + std::to_string(bytes) + " bytes on GPU " + std::to_string(device->ordinal()));
    if (!got.ok()) return got;
    return std::unique_ptr<DeviceMemory>(new DeviceMemory(std::move(device), address, bytes));
  }
  ~DeviceMemory() {
    const Device::Current current(*device_);
    device_->driver().MemFree(address_);
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  void* data() const { return reinterpret_cast<void*>(address_); }
  size_t size() const { return size_; }

 private:
  DeviceMemory(std::shared_ptr<Device> device, CudaAddress address, size_t size)
      : device_(std::move(device)), address_(address), size_(size) {}

  const std::shared_ptr<Device> device_;
  const CudaAddress address_;
  const size_t size_;
};

}  // namespace tony::collective
