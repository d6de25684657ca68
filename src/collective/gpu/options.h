// Options for GPUs that users set by environment variables.
#pragma once

#include <string>

namespace tony::collective {

struct GpuOptions {
  /// TONY_CUDA_LIBRARY: the driver's library, as a path or a name for the loader.
  std::string cuda_library = "libcuda.so.1";
  /// TONY_NCCL_LIBRARY: a path for machines on which the loader does not find the name, e.g.
  /// site-packages/nvidia/nccl/lib/libnccl.so.2. A library that the program has loaded already, as
  /// PyTorch has, is found by its name.
  std::string nccl_library = "libnccl.so.2";
};

GpuOptions GpuOptionsFromEnvironment();

}  // namespace tony::collective
