// Arithmetic one element at a time, to hold kernels and operations to.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

#include "collective/arithmetic/data_type.h"

namespace tony::collective {

using Bytes = std::vector<unsigned char>;

inline constexpr DataType kFloatingTypes[] = {DataType::kFloat16, DataType::kBfloat16,
                                              DataType::kFloat32, DataType::kFloat64};

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

template <typename T>
void ScaleAt(unsigned char* at, double factor) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  using Precise = std::conditional_t<std::is_same_v<T, float>, float, double>;
  value = static_cast<T>(static_cast<Precise>(value) * static_cast<Precise>(factor));
  std::memcpy(at, &value, sizeof(T));
}

template <typename Conversion>
void ScaleNarrowAt(unsigned char* at, double factor) {
  uint16_t value;
  std::memcpy(&value, at, sizeof(value));
  value = Conversion::Store(Conversion::Load(value) * static_cast<float>(factor));
  std::memcpy(at, &value, sizeof(value));
}

/// Times `factor`; of integers cut to whole numbers that have to be in range, of bool nothing.
inline Bytes Scaled(Bytes all, DataType type, double factor) {
  using Function = void (*)(unsigned char*, double);
  const Function functions[kDataTypes] = {ScaleAt<uint8_t>,
                                          ScaleAt<int8_t>,
                                          ScaleAt<uint16_t>,
                                          ScaleAt<int16_t>,
                                          ScaleAt<uint32_t>,
                                          ScaleAt<int32_t>,
                                          ScaleAt<uint64_t>,
                                          ScaleAt<int64_t>,
                                          ScaleNarrowAt<HalfReference>,
                                          ScaleNarrowAt<BfloatReference>,
                                          ScaleAt<float>,
                                          ScaleAt<double>,
                                          nullptr};
  const Function scale = functions[static_cast<size_t>(type)];
  if (scale == nullptr || factor == 1) return all;
  for (size_t i = 0; i < all.size(); i += SizeOf(type)) scale(&all[i], factor);
  return all;
}

template <typename T>
void DivideAt(unsigned char* at, int64_t divisor) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  value = static_cast<T>(static_cast<int64_t>(value) / divisor);
  std::memcpy(at, &value, sizeof(T));
}

/// Integers, of which none is 2^63 or more.
inline Bytes Divided(Bytes all, DataType type, int64_t divisor) {
  using Function = void (*)(unsigned char*, int64_t);
  const Function functions[] = {DivideAt<uint8_t>,  DivideAt<int8_t>,   DivideAt<uint16_t>,
                                DivideAt<int16_t>,  DivideAt<uint32_t>, DivideAt<int32_t>,
                                DivideAt<uint64_t>, DivideAt<int64_t>};
  for (size_t i = 0; i < all.size(); i += SizeOf(type)) {
    functions[static_cast<size_t>(type)](&all[i], divisor);
  }
  return all;
}

/// One vector of each rank: neighbours' results, then those of neighbouring pairs, and so on.
inline std::vector<double> AdasumOf(std::vector<std::vector<double>> vectors) {
  while (vectors.size() > 1) {
    std::vector<std::vector<double>> combined;
    for (size_t i = 0; i + 1 < vectors.size(); i += 2) {
      std::vector<double> a = vectors[i];
      const std::vector<double>& b = vectors[i + 1];
      double dot = 0, a_norm = 0, b_norm = 0;
      for (size_t k = 0; k < a.size(); ++k) {
        dot += a[k] * b[k];
        a_norm += a[k] * a[k];
        b_norm += b[k] * b[k];
      }
      for (size_t k = 0; k < a.size(); ++k) {
        a[k] = (a_norm == 0 ? 1 : 1 - dot / (2 * a_norm)) * a[k] +
               (b_norm == 0 ? 1 : 1 - dot / (2 * b_norm)) * b[k];
      }
      combined.push_back(std::move(a));
    }
    if (vectors.size() % 2 == 1) combined.push_back(vectors.back());
    vectors = std::move(combined);
  }
  return vectors[0];
}

/// How near Adasum's results are to those of AdasumOf(), after a few roundings; of numbers above 1
/// in relation to them.
inline double AdasumPrecision(DataType type) {
  if (type == DataType::kFloat16) return 2e-2;
  if (type == DataType::kBfloat16) return 0.12;
  return type == DataType::kFloat32 ? 4e-6 : 4e-12;
}

/// As numbers, of a floating-point type.
inline std::vector<double> Numbers(const Bytes& bytes, DataType type) {
  std::vector<double> numbers;
  for (size_t i = 0; i < bytes.size(); i += SizeOf(type)) {
    uint16_t narrow;
    float single;
    double wide;
    std::memcpy(&narrow, &bytes[i], sizeof(narrow));
    if (type == DataType::kFloat16) numbers.push_back(HalfReference::Load(narrow));
    if (type == DataType::kBfloat16) numbers.push_back(BfloatReference::Load(narrow));
    if (type == DataType::kFloat32) {
      std::memcpy(&single, &bytes[i], sizeof(single));
      numbers.push_back(single);
    } else if (type == DataType::kFloat64) {
      std::memcpy(&wide, &bytes[i], sizeof(wide));
      numbers.push_back(wide);
    }
  }
  return numbers;
}

/// The other way.
inline Bytes FromNumbers(const std::vector<double>& numbers, DataType type) {
  Bytes bytes(numbers.size() * SizeOf(type));
  for (size_t i = 0; i < numbers.size(); ++i) {
    unsigned char* at = &bytes[i * SizeOf(type)];
    const auto single = static_cast<float>(numbers[i]);
    uint16_t narrow = 0;
    if (type == DataType::kFloat16) narrow = HalfReference::Store(single);
    if (type == DataType::kBfloat16) narrow = BfloatReference::Store(single);
    if (type == DataType::kFloat64) {
      std::memcpy(at, &numbers[i], sizeof(double));
    } else if (type == DataType::kFloat32) {
      std::memcpy(at, &single, sizeof(single));
    } else {
      std::memcpy(at, &narrow, sizeof(narrow));
    }
  }
  return bytes;
}

/// Rank after rank, as groups do.
inline Bytes ReferenceOfAll(const std::vector<Bytes>& inputs, DataType type, ReduceOp op) {
  Bytes result = inputs[0];
  for (size_t rank = 1; rank < inputs.size(); ++rank) {
    result = Reference(result, inputs[rank], type, op);
  }
  return result;
}

inline Bytes Concatenated(const std::vector<Bytes>& parts) {
  Bytes all;
  for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// Cuts off `sizes[0]` bytes, then `sizes[1]`, …
inline std::vector<Bytes> Cut(const Bytes& all, const std::vector<size_t>& sizes) {
  std::vector<Bytes> parts;
  auto at = all.begin();
  for (const size_t size : sizes) {
    parts.emplace_back(at, at + static_cast<std::ptrdiff_t>(size));
    at += static_cast<std::ptrdiff_t>(size);
  }
  return parts;
}

/// Any bits, but of a floating-point type no NaN: which of two NaNs is the result is nobody's
/// promise.
inline Bytes RandomVector(size_t count, DataType type, std::mt19937& random) {
  Bytes bytes(count * SizeOf(type));
  // Marsaglia's xorshift, since there is much to fill.
  uint64_t bits = (uint64_t{random()} << 32) | random() | 1;
  for (size_t i = 0; i < bytes.size(); i += sizeof(bits)) {
    bits ^= bits << 13;
    bits ^= bits >> 7;
    bits ^= bits << 17;
    std::memcpy(&bytes[i], &bits, std::min(sizeof(bits), bytes.size() - i));
  }
  for (size_t i = 0; i < count; ++i) {
    unsigned char* at = &bytes[i * SizeOf(type)];
    if (type == DataType::kBool) *at &= 1;
    // The exponent's highest bit is cut: no infinities, whose difference would be a NaN.
    if (IsFloating(type)) at[SizeOf(type) - 1] &= 0xbf;
  }
  return bytes;
}

/// Normally distributed, of a floating-point type.
inline Bytes RandomNumbers(size_t count, DataType type, std::mt19937& random) {
  std::normal_distribution<double> normal;
  std::vector<double> numbers(count);
  for (double& number : numbers) number = normal(random);
  return FromNumbers(numbers, type);
}

/// The reduction by hosts: rank after rank within each host, then host after host.
inline Bytes ReferenceByHosts(const std::vector<Bytes>& inputs,
                              const std::vector<std::vector<int>>& hosts, DataType type,
                              ReduceOp op) {
  std::vector<Bytes> sums;
  for (const auto& host : hosts) {
    std::vector<Bytes> its;
    for (const int rank : host) its.push_back(inputs[static_cast<size_t>(rank)]);
    sums.push_back(ReferenceOfAll(its, type, op));
  }
  return ReferenceOfAll(sums, type, op);
}

}  // namespace tony::collective
