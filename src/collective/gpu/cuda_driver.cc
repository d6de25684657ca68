// Fills the table of functions by name. One missing function makes the whole library unusable: then
// the driver is older than CUDA 11.
#include "collective/gpu/cuda_driver.h"

#include "collective/gpu/shared_library.h"

namespace tony::collective {
namespace {

constexpr char kRemedy[] =
    "; reduce on CPUs, or set TONY_CUDA_LIBRARY to the driver's libcuda.so.1";

}  // namespace

Result<std::shared_ptr<const CudaDriver>> CudaDriver::Load(const std::string& file) {
  auto library = SharedLibrary::Open(file);
  if (!library.ok()) {
    return Status(Code::kFailedPrecondition, "GPUs cannot be used, there is no NVIDIA driver: " +
                                                 library.status().message() + kRemedy);
  }
  const auto driver = std::make_shared<CudaDriver>();
  const char* missing = nullptr;
#define TONY_FIND(member, symbol, ...)     \
  library->Find(#symbol, &driver->member); \
  if (driver->member == nullptr && missing == nullptr) missing = #symbol;
  TONY_CUDA_FUNCTIONS(TONY_FIND)
#undef TONY_FIND
  if (missing != nullptr) {
    return Status(Code::kFailedPrecondition,
                  "GPUs cannot be used, " + library->PathOf("cuInit") + " has no function " +
                      missing + ": it is no driver for CUDA 11 or newer" + kRemedy);
  }
  Status found = driver->FindGpus();
  if (!found.ok()) return found;
  return std::shared_ptr<const CudaDriver>(driver);
}

Status CudaDriver::FindGpus() {
  CudaResult result = Init(0);
  if (result == kCudaSuccess) result = DriverGetVersion(&version_);
  if (result == kCudaSuccess) result = DeviceGetCount(&devices_);
  if (result == kCudaSuccess && devices_ > 0) return {};
  const std::string why = result == kCudaSuccess ? "the driver counts none" : NameOf(result);
  return {Code::kFailedPrecondition,
          "this process sees no GPU (" + why +
              "); give it one (CUDA_VISIBLE_DEVICES, the container's devices), or reduce on CPUs"};
}

std::string CudaDriver::NameOf(CudaResult result) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (GetErrorName(result, &name) != kCudaSuccess || name == nullptr) {
    return "CUDA error " + std::to_string(result);
  }
  const bool said = GetErrorString(result, &text) == kCudaSuccess && text != nullptr;
  return said ? std::string(name) + ": " + text : name;
}

Status CudaDriver::Check(CudaResult result, const std::string& what) const {
  if (result == kCudaSuccess) return {};
  const Code code = result == kCudaOutOfMemory ? Code::kResourceExhausted : Code::kInternal;
  return {code, "cannot " + what + " (" + NameOf(result) + ")"};
}

std::string CudaDriver::version() const {
  return std::to_string(version_ / 1000) + "." + std::to_string(version_ % 1000 / 10);
}

}  // namespace tony::collective
