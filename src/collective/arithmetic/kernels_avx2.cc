// The table for machines with AVX2 and F16C. Only this file is compiled with these instructions.
#define TONY_KERNEL_SET avx2
#include "collective/arithmetic/kernel_loops.h"

namespace tony::collective {

const Kernels& Avx2Kernels() {
  static constexpr Kernels kKernels = avx2::MakeKernels("avx2");
  return kKernels;
}

}  // namespace tony::collective
