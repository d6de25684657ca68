// Kernels for each machine, and the choice among them.
#define TONY_KERNEL_SET base
#include "collective/kernel_loops.h"

namespace tony::collective {

const Kernels& BaseKernels() {
  static constexpr Kernels kKernels = base::MakeKernels("x86-64");
  return kKernels;
}

const Kernels& BestKernels() {
#if defined(__x86_64__)
  static const Kernels& best = [&]() -> const Kernels& {
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
    if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) {
      return Avx512Kernels();
    }
    return avx2 ? Avx2Kernels() : BaseKernels();
  }();
  return best;
#else
  return BaseKernels();
#endif
}

}  // namespace tony::collective
