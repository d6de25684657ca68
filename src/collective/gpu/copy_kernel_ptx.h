// The kernel as this build has it.
#pragma once

#include <string_view>

namespace tony::collective {

/// copy_kernel.cu in PTX, which any driver since CUDA 11 makes a program for its GPU of; ends with
/// a zero byte. Empty where no CUDA compiler was found when this was built.
std::string_view CopyKernelPtx();

}  // namespace tony::collective
