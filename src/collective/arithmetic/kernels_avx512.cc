// The table for machines with AVX-512 (F, BW, DQ, VL). Only this file is compiled with these
// instructions.
#define TONY_KERNEL_SET avx512
#include "collective/arithmetic/kernel_loops.h"

namespace tony::collective {

const Kernels& Avx512Kernels() {
  static constexpr Kernels kKernels = avx512::MakeKernels("avx512");
  return kKernels;
}

}  // namespace tony::collective
