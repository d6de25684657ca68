// Arithmetic on arrays, in one table for each instruction set.
#pragma once

#include <array>
#include <cstddef>

#include "collective/data_type.h"

namespace tony::collective {

/// out[i] = a[i] op b[i] for `count` elements. `out` may be `a` or `b`, and does not overlap them
/// otherwise. No alignment is asked for.
using ReduceKernel = void (*)(void* out, const void* a, const void* b, size_t count);
/// out[i] = in[i] · factor, of integers cut to whole numbers, of bool unchanged. `out` may be `in`.
using ScaleKernel = void (*)(void* out, const void* in, size_t count, double factor);
/// As memcpy, past the caches: for what nobody here reads soon.
using CopyKernel = void (*)(void* out, const void* in, size_t bytes);

struct Kernels {
  const char* instruction_set = "";  ///< "x86-64", "avx2", "avx512"
  std::array<std::array<ReduceKernel, kReduceOps>, kDataTypes> reduce{};
  std::array<ScaleKernel, kDataTypes> scale{};
  CopyKernel stream_copy = nullptr;

  ScaleKernel Scale(DataType type) const { return scale[static_cast<size_t>(type)]; }
  ReduceKernel Reduce(DataType type, ReduceOp op) const {
    return reduce[static_cast<size_t>(type)][static_cast<size_t>(op)];
  }
};

/// Each is the same to the last bit. The latter two run on machines only that have them.
const Kernels& BaseKernels();
const Kernels& Avx2Kernels();
const Kernels& Avx512Kernels();

/// The fastest that this machine runs.
const Kernels& BestKernels();

}  // namespace tony::collective
