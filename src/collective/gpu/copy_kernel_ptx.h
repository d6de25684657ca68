// The copy kernel's PTX text, as embedded in this build.
#pragma once

#include <string_view>

namespace tony::collective {

/// The PTX of copy_kernel.cu. Any driver since CUDA 11 compiles it for its GPU. The text ends with
/// a zero byte. Empty if the build found no CUDA compiler.
std::string_view CopyKernelPtx();

}  // namespace tony::collective
