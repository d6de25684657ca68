// The table for all machines, and the choice of the fastest table at its first use.
#define TONY_KERNEL_SET base
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "collective/arithmetic/kernel_loops.h"

namespace tony::collective {
#if defined(__x86_64__)
namespace {

/// Whether the processor converts half floats. CPUID is read here because clang 16's
/// __builtin_cpu_supports() does not know F16C's name.
bool HasF16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

}  // namespace
#endif

const Kernels& BaseKernels() {
  static constexpr Kernels kKernels = base::MakeKernels("x86-64");
  return kKernels;
}

const Kernels& BestKernels() {
#if defined(__x86_64__)
  static const Kernels& best = [&]() -> const Kernels& {
    const bool avx2 = __builtin_cpu_supports("avx2") && HasF16c();
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
