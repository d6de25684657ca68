// Arithmetic on arrays: one table of functions for each instruction set.
#pragma once

#include <array>
#include <cstddef>

#include "collective/arithmetic/data_type.h"

namespace tony::collective {

/// out[i] = a[i] op b[i] for `count` elements. `out` may be `a` or `b`, and must not overlap them
/// otherwise. No alignment is required.
using ReduceKernel = void (*)(void* out, const void* a, const void* b, size_t count);
/// out[i] = in[i] · factor; integers are cut to whole numbers, bool stays unchanged. `out` may be
/// `in`.
using ScaleKernel = void (*)(void* out, const void* in, size_t count, double factor);
/// Adds a·b, a·a and b·b to sums[0], [1] and [2], computed as float64.
using DotsKernel = void (*)(double* sums, const void* a, const void* b, size_t count);
/// out[i] = factor_a · a[i] + factor_b · b[i], computed as float64. `out` may be `a` or `b`.
using MixKernel = void (*)(void* out, const void* a, const void* b, size_t count, double factor_a,
                           double factor_b);
/// Like memcpy, but past the caches: for data that nobody on this machine reads soon.
using CopyKernel = void (*)(void* out, const void* in, size_t bytes);

struct Kernels {
  const char* instruction_set = "";  ///< "x86-64", "avx2", "avx512"
  std::array<std::array<ReduceKernel, kReduceOps>, kDataTypes> reduce{};
  std::array<ScaleKernel, kDataTypes> scale{};
  CopyKernel stream_copy = nullptr;
  // For floating-point types only:
  std::array<DotsKernel, kDataTypes> dots{};
  std::array<MixKernel, kDataTypes> mix{};

  ScaleKernel Scale(DataType type) const { return scale[static_cast<size_t>(type)]; }
  DotsKernel Dots(DataType type) const { return dots[static_cast<size_t>(type)]; }
  MixKernel Mix(DataType type) const { return mix[static_cast<size_t>(type)]; }
  ReduceKernel Reduce(DataType type, ReduceOp op) const {
    return reduce[static_cast<size_t>(type)][static_cast<size_t>(op)];
  }
};

/// All tables give the same results, to the last bit. Avx2Kernels() and Avx512Kernels() run only on
/// machines with these instructions.
const Kernels& BaseKernels();
const Kernels& Avx2Kernels();
const Kernels& Avx512Kernels();

/// The fastest table that this machine can run.
const Kernels& BestKernels();

}  // namespace tony::collective
