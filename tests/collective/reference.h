// Arithmetic one element at a time, to hold kernels and operations to.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

#include "collective/data_type.h"

namespace tony::collective {

using Bytes = std::vector<unsigned char>;

/// Rounds as the compiler's own type of 16 bits does.
struct HalfReference {
  static float Load(uint16_t bits) {
    _Float16 value;
    std::memcpy(&value, &bits, sizeof(value));
    return static_cast<float>(value);
  }
  static uint16_t Store(float value) {
    const auto half = static_cast<_Float16>(value);
    uint16_t bits;
    std::memcpy(&bits, &half, sizeof(bits));
    return bits;
  }
};

/// Chooses the nearer of both neighbours by their distance.
struct BfloatReference {
  static float Load(uint16_t bits) {
    const uint32_t wide = static_cast<uint32_t>(bits) << 16;
    float value;
    std::memcpy(&value, &wide, sizeof(value));
    return value;
  }
  static uint16_t Store(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    const auto low = static_cast<uint16_t>(bits >> 16);
    if (std::isnan(value)) return low | 0x40;
    const uint32_t rest = bits & 0xffff;
    const bool up = rest > 0x8000 || (rest == 0x8000 && (low & 1) != 0);
    return static_cast<uint16_t>(low + (up ? 1 : 0));
  }
};

template <typename T>
T Combine(T a, T b, ReduceOp op) {
  if constexpr (std::is_floating_point_v<T>) {
    if (op == ReduceOp::kSum) return a + b;
    if (op == ReduceOp::kProduct) return a * b;
    if (std::isnan(a)) return a;
    if (std::isnan(b)) return b;
  } else {
    // Modulo 2^64 first, which is modulo 2^8 as well.
    const auto wide_a = static_cast<uint64_t>(a);
    const auto wide_b = static_cast<uint64_t>(b);
    if (op == ReduceOp::kSum) return static_cast<T>(wide_a + wide_b);
    if (op == ReduceOp::kProduct) return static_cast<T>(wide_a * wide_b);
  }
  if (op == ReduceOp::kMin) return a < b ? a : b;
  return a > b ? a : b;
}

template <typename T>
void CombineAt(unsigned char* out, const unsigned char* a, const unsigned char* b, ReduceOp op) {
  T x;
  T y;
  std::memcpy(&x, a, sizeof(T));
  std::memcpy(&y, b, sizeof(T));
  const T result = Combine(x, y, op);
  std::memcpy(out, &result, sizeof(T));
}

template <typename Conversion>
void CombineNarrowAt(unsigned char* out, const unsigned char* a, const unsigned char* b,
                     ReduceOp op) {
  uint16_t x;
  uint16_t y;
  std::memcpy(&x, a, sizeof(x));
  std::memcpy(&y, b, sizeof(y));
  const uint16_t result = Conversion::Store(Combine(Conversion::Load(x), Conversion::Load(y), op));
  std::memcpy(out, &result, sizeof(result));
}

/// One element.
inline void ReferenceAt(unsigned char* out, const unsigned char* a, const unsigned char* b,
                        DataType type, ReduceOp op) {
  switch (type) {
    case DataType::kUint8:
      return CombineAt<uint8_t>(out, a, b, op);
    case DataType::kInt8:
      return CombineAt<int8_t>(out, a, b, op);
    case DataType::kUint16:
      return CombineAt<uint16_t>(out, a, b, op);
    case DataType::kInt16:
      return CombineAt<int16_t>(out, a, b, op);
    case DataType::kUint32:
      return CombineAt<uint32_t>(out, a, b, op);
    case DataType::kInt32:
      return CombineAt<int32_t>(out, a, b, op);
    case DataType::kUint64:
      return CombineAt<uint64_t>(out, a, b, op);
    case DataType::kInt64:
      return CombineAt<int64_t>(out, a, b, op);
    case DataType::kFloat16:
      return CombineNarrowAt<HalfReference>(out, a, b, op);
    case DataType::kBfloat16:
      return CombineNarrowAt<BfloatReference>(out, a, b, op);
    case DataType::kFloat32:
      return CombineAt<float>(out, a, b, op);
    case DataType::kFloat64:
      return CombineAt<double>(out, a, b, op);
    case DataType::kBool: {
      const bool any = op == ReduceOp::kSum || op == ReduceOp::kMax;
      *out = any ? (*a != 0 || *b != 0) : (*a != 0 && *b != 0);
      return;
    }
  }
}

/// a op b, element by element.
inline Bytes Reference(const Bytes& a, const Bytes& b, DataType type, ReduceOp op) {
  Bytes out(a.size());
  for (size_t i = 0; i < a.size(); i += SizeOf(type)) {
    ReferenceAt(&out[i], &a[i], &b[i], type, op);
  }
  return out;
}

/// Any bits, but of a floating-point type no NaN: which of two NaNs is the result is nobody's
/// promise.
inline Bytes RandomVector(size_t count, DataType type, std::mt19937& random) {
  Bytes bytes(count * SizeOf(type));
  for (auto& byte : bytes) byte = static_cast<unsigned char>(random());
  for (size_t i = 0; i < count; ++i) {
    unsigned char* at = &bytes[i * SizeOf(type)];
    if (type == DataType::kBool) *at &= 1;
    // The exponent's highest bit is cut: no infinities, whose difference would be a NaN.
    const bool floating = type == DataType::kFloat16 || type == DataType::kBfloat16 ||
                          type == DataType::kFloat32 || type == DataType::kFloat64;
    if (floating) at[SizeOf(type) - 1] &= 0xbf;
  }
  return bytes;
}

}  // namespace tony::collective
