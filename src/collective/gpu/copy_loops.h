// The part of a batch of copies that one thread of the GPU does.
//
// This header is compiled for the GPU, and by tests for the host, which compare it with the CPU's
// kernels. All threads of a copy call it with the same `step`, each with its own `begin`.
#pragma once

#include <stdint.h>

#include "collective/gpu/copy_batch.h"

#ifdef __CUDACC__
#define TONY_ON_GPU __device__ __forceinline__
#else
#define TONY_ON_GPU inline
#endif

namespace tony::collective {

/// 16 bytes, which a thread loads with one instruction.
struct alignas(16) CopyUnit {
  uint32_t words[4];
};

/// Multiplies elements exactly as the CPU's kernels do, to the last bit.
template <typename T>
struct GpuElement {
  using Stored = T;
  static TONY_ON_GPU T Scale(T value, double factor) {
    return static_cast<T>(static_cast<double>(value) * factor);
  }
};
template <>
struct GpuElement<float> {
  using Stored = float;
  static TONY_ON_GPU float Scale(float value, double factor) {
    return value * static_cast<float>(factor);
  }
};

TONY_ON_GPU float GpuFloat(uint32_t bits) {
#ifdef __CUDACC__
  return __uint_as_float(bits);
#else
  return __builtin_bit_cast(float, bits);
#endif
}
TONY_ON_GPU uint32_t GpuBits(float value) {
#ifdef __CUDACC__
  return __float_as_uint(value);
#else
  return __builtin_bit_cast(uint32_t, value);
#endif
}

struct GpuBfloat16 {
  using Stored = uint16_t;
  /// Rounds to nearest, ties to even. A NaN stays a NaN.
  static TONY_ON_GPU uint16_t Scale(uint16_t value, double factor) {
    const float scaled = GpuFloat(static_cast<uint32_t>(value) << 16) * static_cast<float>(factor);
    const uint32_t bits = GpuBits(scaled);
    const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    const uint32_t quiet = (bits >> 16) | 0x40;
    return static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? quiet : rounded);
  }
};

struct GpuFloat16 {
  using Stored = uint16_t;
  static TONY_ON_GPU uint16_t Scale(uint16_t value, double factor) {
#ifdef __CUDACC__
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value));
    uint16_t narrow;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(narrow) : "f"(wide * static_cast<float>(factor)));
    return narrow;
#else
    const float wide = __builtin_bit_cast(_Float16, value);
    return __builtin_bit_cast(uint16_t, static_cast<_Float16>(wide * static_cast<float>(factor)));
#endif
  }
};

template <typename Unit>
TONY_ON_GPU void CopyUnits(void* to, const void* from, uint64_t bytes, uint64_t begin,
                           uint64_t step) {
  const auto* const source = static_cast<const Unit*>(from);
  auto* const target = static_cast<Unit*>(to);
  for (uint64_t i = begin; i < bytes / sizeof(Unit); i += step) target[i] = source[i];
}

/// Copies in 16-byte or 4-byte units if both ends are aligned to them, otherwise in bytes; the
/// remainder at the end is copied in bytes.
TONY_ON_GPU void CopyBytes(void* to, const void* from, uint64_t bytes, uint64_t begin,
                           uint64_t step) {
  const uint64_t places = reinterpret_cast<uint64_t>(to) | reinterpret_cast<uint64_t>(from);
  uint64_t unit = 1;
  if (places % 16 == 0) {
    unit = 16;
    CopyUnits<CopyUnit>(to, from, bytes, begin, step);
  } else if (places % 4 == 0) {
    unit = 4;
    CopyUnits<uint32_t>(to, from, bytes, begin, step);
  }
  const uint64_t done = unit == 1 ? 0 : bytes / unit * unit;
  CopyUnits<uint8_t>(static_cast<uint8_t*>(to) + done, static_cast<const uint8_t*>(from) + done,
                     bytes - done, begin, step);
}

template <typename E>
TONY_ON_GPU void ScaleElements(void* to, const void* from, uint64_t bytes, double factor,
                               uint64_t begin, uint64_t step) {
  using Stored = typename E::Stored;
  const auto* const source = static_cast<const Stored*>(from);
  auto* const target = static_cast<Stored*>(to);
  for (uint64_t i = begin; i < bytes / sizeof(Stored); i += step) {
    target[i] = E::Scale(source[i], factor);
  }
}

/// Does one thread's part of copy number `copy`. A switch over all types, with one row for each:
/// the compiler reports a type that is left out.
TONY_ON_GPU void CopyPart(const CopyBatch& batch, unsigned copy, uint64_t begin, uint64_t step) {
  void* const to = batch.to[copy];
  const void* const from = batch.from[copy];
  const uint64_t bytes = batch.bytes[copy];
  const double factor = batch.factor;
  if (factor == 1 || batch.type == DataType::kBool) return CopyBytes(to, from, bytes, begin, step);
  switch (batch.type) {
    case DataType::kUint8:
      return ScaleElements<GpuElement<uint8_t>>(to, from, bytes, factor, begin, step);
    case DataType::kInt8:
      return ScaleElements<GpuElement<int8_t>>(to, from, bytes, factor, begin, step);
    case DataType::kUint16:
      return ScaleElements<GpuElement<uint16_t>>(to, from, bytes, factor, begin, step);
    case DataType::kInt16:
      return ScaleElements<GpuElement<int16_t>>(to, from, bytes, factor, begin, step);
    case DataType::kUint32:
      return ScaleElements<GpuElement<uint32_t>>(to, from, bytes, factor, begin, step);
    case DataType::kInt32:
      return ScaleElements<GpuElement<int32_t>>(to, from, bytes, factor, begin, step);
    case DataType::kUint64:
      return ScaleElements<GpuElement<uint64_t>>(to, from, bytes, factor, begin, step);
    case DataType::kInt64:
      return ScaleElements<GpuElement<int64_t>>(to, from, bytes, factor, begin, step);
    case DataType::kFloat16:
      return ScaleElements<GpuFloat16>(to, from, bytes, factor, begin, step);
    case DataType::kBfloat16:
      return ScaleElements<GpuBfloat16>(to, from, bytes, factor, begin, step);
    case DataType::kFloat32:
      return ScaleElements<GpuElement<float>>(to, from, bytes, factor, begin, step);
    case DataType::kFloat64:
      return ScaleElements<GpuElement<double>>(to, from, bytes, factor, begin, step);
    case DataType::kBool:
      return;
  }
}

}  // namespace tony::collective
