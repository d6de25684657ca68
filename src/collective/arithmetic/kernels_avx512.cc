// Kernels for machines with AVX-512 (F, BW, DQ, VL): this file alone is compiled for them.
#define TONY_KERNEL_SET avx512
#include "collective/arithmetic/kernel_loops.h"

namespace tony::collective {

const Kernels& Avx512Kernels() {
  static constexpr Kernels kKernels = avx512::MakeKernels("avx512");
  return kKernels;
}

}  // namespace tony::collective
