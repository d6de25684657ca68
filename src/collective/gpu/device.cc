// Retains the GPU's primary context instead of making a context, so that pointers, streams and
// events of the framework are valid in it.
#include "collective/gpu/device.h"

#include <utility>

namespace tony::collective {

Result<std::shared_ptr<Device>> Device::Open(std::shared_ptr<const CudaDriver> driver,
                                             int ordinal) {
  if (ordinal < 0 || ordinal >= driver->devices()) {
    return Status(Code::kInvalidArgument,
                  "there is no GPU " + std::to_string(ordinal) + ": this process sees " +
                      std::to_string(driver->devices()) + ", which count from 0");
  }
  const std::string name = "GPU " + std::to_string(ordinal);
  CudaDevice handle = 0;
  Status found = driver->Check(driver->DeviceGet(&handle, ordinal), "find " + name);
  if (!found.ok()) return found;
  CudaContext context = nullptr;
  Status opened = driver->Check(driver->PrimaryRetain(&context, handle), "open " + name);
  if (!opened.ok()) return opened;
  return std::shared_ptr<Device>(new Device(std::move(driver), ordinal, handle, context));
}

Device::~Device() { driver_->PrimaryRelease(handle_); }

std::string Device::name() const {
  char name[256] = "";
  const bool said = driver_->DeviceGetName(name, sizeof(name), handle_) == kCudaSuccess;
  return said ? name : "a GPU without a name";
}

}  // namespace tony::collective
