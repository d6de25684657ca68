// What users can set about GPUs, by environment variables.
#pragma once

#include <string>

namespace tony::collective {

struct GpuOptions {
  /// TONY_CUDA_LIBRARY: the driver's library, a path or a name for the loader.
  std::string cuda_library = "libcuda.so.1";
  /// TONY_NCCL_LIBRARY: where the name is not found, e.g.
  /// site-packages/nvidia/nccl/lib/libnccl.so.2. What the program has loaded already, as PyTorch
  /// has, is found by its name.
  std::string nccl_library = "libnccl.so.2";
};

GpuOptions GpuOptionsFromEnvironment();

}  // namespace tony::collective
