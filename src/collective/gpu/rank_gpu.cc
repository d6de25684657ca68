// Chooses the GPU by priority: where tensors lie, then what the program suggested, then the only
// GPU that the process sees.
#include "collective/gpu/rank_gpu.h"

namespace tony::collective {

Result<std::shared_ptr<const CudaDriver>> RankGpu::Driver() {
  if (driver_ == nullptr) {
    auto loaded = CudaDriver::Load(options_.cuda_library);
    if (!loaded.ok()) return loaded.status();
    driver_ = *loaded;
  }
  return driver_;
}

std::string RankGpu::Locate(const void* data) {
  const std::lock_guard lock(mutex_);
  auto driver = Driver();
  if (!driver.ok()) return driver.status().message();
  int ordinal = -1;
  const CudaResult asked = (*driver)->PointerGetAttribute(&ordinal, kCudaPointerDeviceOrdinal,
                                                          reinterpret_cast<CudaAddress>(data));
  if (asked != kCudaSuccess || ordinal < 0) {
    return "it is submitted as a GPU's, but its memory is of no GPU that the driver knows (" +
           (*driver)->NameOf(asked) + ")";
  }
  if (located_ < 0) located_ = ordinal;
  if (located_ == ordinal) return "";
  return "it lies on GPU " + std::to_string(ordinal) +
         ", and what this rank has submitted before "
         "on GPU " +
         std::to_string(located_) + ": a rank reduces on one GPU";
}

void RankGpu::Suggest(int ordinal) {
  const std::lock_guard lock(mutex_);
  suggested_ = ordinal;
}

Result<int> RankGpu::Ordinal(const CudaDriver& driver) const {
  if (located_ >= 0) return located_;
  if (suggested_ >= 0) return suggested_;
  if (driver.devices() == 1) return 0;
  return Status(Code::kFailedPrecondition,
                "it has submitted nothing that lies on a GPU so far, and sees " +
                    std::to_string(driver.devices()) +
                    " of them: say which one it uses, in join(device=…), or let it see that one "
                    "only (CUDA_VISIBLE_DEVICES)");
}

Result<RankGpu::Opened> RankGpu::Open() {
  const std::lock_guard lock(mutex_);
  auto driver = Driver();
  if (!driver.ok()) return driver.status();
  if (nccl_ == nullptr) {
    auto loaded = NcclLibrary::Load(options_.nccl_library);
    if (!loaded.ok()) return loaded.status();
    nccl_ = *loaded;
  }
  auto ordinal = Ordinal(**driver);
  if (!ordinal.ok()) return ordinal.status();
  if (device_ == nullptr || device_->ordinal() != *ordinal) {
    auto opened = Device::Open(*driver, *ordinal);
    if (!opened.ok()) return opened.status();
    device_ = *opened;
  }
  return Opened{.nccl = nccl_, .device = device_};
}

}  // namespace tony::collective
