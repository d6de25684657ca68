// The loops of the functions in kernels.h, compiled once for each instruction set.
//
// The including file defines TONY_KERNEL_SET, a name, first. No function of another header may be
// used here unless it is certainly inlined: the linker keeps only one copy of such a function,
// perhaps one with instructions that the machine does not have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "collective/arithmetic/kernels.h"

namespace tony::collective::TONY_KERNEL_SET {
namespace {

template <typename To, typename From>
inline __attribute__((always_inline)) To Bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}

/// How elements are stored and computed. Sums and products of integers are computed without a sign,
/// so that they wrap around; both 16-bit floating-point types are computed as float32.
template <typename T>
struct Element {
  using Stored = T;
  using Computed = T;
  static inline Computed Load(Stored value) { return value; }
  static inline Stored Store(Computed value) { return value; }
};

struct Bfloat16 {
  using Stored = uint16_t;
  using Computed = float;
  static inline float Load(uint16_t value) {
    return Bits<float>(static_cast<uint32_t>(value) << 16);
  }
  /// Rounds to nearest, ties to even. A NaN stays a NaN, made quiet.
  static inline uint16_t Store(float value) {
    const uint32_t bits = Bits<uint32_t>(value);
    const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    const uint32_t quiet = (bits >> 16) | 0x40;
    return static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? quiet : rounded);
  }
};

struct Float16 {
  using Stored = uint16_t;
  using Computed = float;
#if defined(__F16C__)
  static inline float Load(uint16_t value) { return _cvtsh_ss(value); }
  static inline uint16_t Store(float value) {
    return _cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
#else
  static inline float Load(uint16_t value) {
    const uint32_t sign = static_cast<uint32_t>(value & 0x8000) << 16;
    const uint32_t rest = static_cast<uint32_t>(value & 0x7fff) << 13;
    // The multiplication moves the exponent to its place and makes subnormal numbers normal.
    const float finite = Bits<float>(rest) * Bits<float>(0x77800000U);  // 2^112
    uint32_t bits = Bits<uint32_t>(finite);
    if (rest >= 0x0f800000) bits = rest | 0x7f800000;  // infinity, NaN ...
    if (rest > 0x0f800000) bits |= 0x00400000;         // ... which is quiet
    return Bits<float>(sign | bits);
  }
  static inline uint16_t Store(float value) {
    const uint32_t all = Bits<uint32_t>(value);
    const uint32_t sign = (all >> 16) & 0x8000;
    const uint32_t bits = all & 0x7fffffff;
    if (bits > 0x7f800000) {  // NaN: quiet, with the bits of its payload that fit
      return static_cast<uint16_t>(sign | 0x7e00 | ((bits >> 13) & 0x3ff));
    }
    if (bits >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00);
    if (bits < 0x38800000) {  // subnormal: the addition rounds to half precision's last bit
      const float shifted = Bits<float>(bits) + 0.5F;
      return static_cast<uint16_t>(sign | (Bits<uint32_t>(shifted) - 0x3f000000));
    }
    const uint32_t rounded = bits - 0x38000000 + 0xfff + ((bits >> 13) & 1);
    return static_cast<uint16_t>(sign | (rounded >> 13));
  }
#endif
};

struct Bool {
  using Stored = uint8_t;
  using Computed = uint8_t;
  static inline uint8_t Load(uint8_t value) { return value != 0 ? 1 : 0; }
  static inline uint8_t Store(uint8_t value) { return value; }
};

/// Narrow integers are promoted to int, and cut when they are stored.
struct Sum {
  template <typename T>
  static inline T Apply(T a, T b) {
    return static_cast<T>(a + b);
  }
  static inline uint16_t Apply(uint16_t a, uint16_t b) { return static_cast<uint16_t>(a + b); }
};
struct Product {
  template <typename T>
  static inline T Apply(T a, T b) {
    return static_cast<T>(a * b);
  }
  // uint16_t would be promoted to int, in which 65535 * 65535 overflows.
  static inline uint16_t Apply(uint16_t a, uint16_t b) {
    return static_cast<uint16_t>(static_cast<uint32_t>(a) * b);
  }
};
/// `a != a` is true for a NaN only. A NaN in `a` or in `b` is the result.
struct Min {
  template <typename T>
  static inline T Apply(T a, T b) {
    return ((a < b) | (a != a)) ? a : b;
  }
};
struct Max {
  template <typename T>
  static inline T Apply(T a, T b) {
    return ((a > b) | (a != a)) ? a : b;
  }
};

#if defined(__F16C__)
/// Load and store eight half floats.
inline __m256 LoadHalves(const char* from) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
inline void StoreHalves(char* to, __m256 values) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                   _mm256_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
#endif

template <typename E, typename Op>
void Reduce(void* out, const void* a, const void* b, size_t count) {
  using Stored = typename E::Stored;
  auto* to = static_cast<char*>(out);
  const auto* from_a = static_cast<const char*>(a);
  const auto* from_b = static_cast<const char*>(b);
  size_t i = 0;
#if defined(__F16C__)
  if constexpr (std::is_same_v<E, Float16>) {  // the compiler does not vectorize its conversions
    for (; i + 8 <= count; i += 8) {
      const __m256 result = Op::Apply(LoadHalves(from_a + i * 2), LoadHalves(from_b + i * 2));
      StoreHalves(to + i * 2, result);
    }
  }
#endif
  // `out` is `a` or `b` or apart from both, so no element depends on another one.
#pragma GCC ivdep
  for (; i < count; ++i) {
    Stored x;
    Stored y;
    __builtin_memcpy(&x, from_a + i * sizeof(Stored), sizeof(Stored));
    __builtin_memcpy(&y, from_b + i * sizeof(Stored), sizeof(Stored));
    const Stored result = E::Store(Op::Apply(E::Load(x), E::Load(y)));
    __builtin_memcpy(to + i * sizeof(Stored), &result, sizeof(Stored));
  }
}

/// Multiplies integers and float64 as double, all other types as float.
template <typename E>
void Scale(void* out, const void* in, size_t count, double factor) {
  using Stored = typename E::Stored;
  using Computed = typename E::Computed;
  using Precise = std::conditional_t<std::is_same_v<Computed, float>, float, double>;
  auto* to = static_cast<char*>(out);
  const auto* from = static_cast<const char*>(in);
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i) {
    Stored value;
    __builtin_memcpy(&value, from + i * sizeof(Stored), sizeof(Stored));
    const auto scaled = static_cast<Precise>(E::Load(value)) * static_cast<Precise>(factor);
    const Stored result = E::Store(static_cast<Computed>(scaled));
    __builtin_memcpy(to + i * sizeof(Stored), &result, sizeof(Stored));
  }
}

template <typename E>
inline __attribute__((always_inline)) double LoadWide(const char* from, size_t i) {
  typename E::Stored value;
  __builtin_memcpy(&value, from + i * sizeof(value), sizeof(value));
  return static_cast<double>(E::Load(value));
}

/// Adds in eight sums side by side, so that all instruction sets add in the same order and get the
/// same bits.
template <typename E>
void Dots(double* sums, const void* a, const void* b, size_t count) {
  constexpr size_t kSums = 8;
  const auto* from_a = static_cast<const char*>(a);
  const auto* from_b = static_cast<const char*>(b);
  double ab[kSums] = {};
  double aa[kSums] = {};
  double bb[kSums] = {};
  for (size_t i = 0; i + kSums <= count; i += kSums) {
    for (size_t lane = 0; lane < kSums; ++lane) {
      const double x = LoadWide<E>(from_a, i + lane);
      const double y = LoadWide<E>(from_b, i + lane);
      ab[lane] += x * y;
      aa[lane] += x * x;
      bb[lane] += y * y;
    }
  }
  for (size_t i = count - count % kSums; i < count; ++i) {
    const double x = LoadWide<E>(from_a, i);
    const double y = LoadWide<E>(from_b, i);
    ab[i % kSums] += x * y;
    aa[i % kSums] += x * x;
    bb[i % kSums] += y * y;
  }
  for (size_t lane = 0; lane < kSums; ++lane) {
    sums[0] += ab[lane];
    sums[1] += aa[lane];
    sums[2] += bb[lane];
  }
}

template <typename E>
void Mix(void* out, const void* a, const void* b, size_t count, double factor_a, double factor_b) {
  using Stored = typename E::Stored;
  auto* to = static_cast<char*>(out);
  const auto* from_a = static_cast<const char*>(a);
  const auto* from_b = static_cast<const char*>(b);
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i) {
    const double mixed = LoadWide<E>(from_a, i) * factor_a + LoadWide<E>(from_b, i) * factor_b;
    const Stored result = E::Store(static_cast<typename E::Computed>(mixed));
    __builtin_memcpy(to + i * sizeof(Stored), &result, sizeof(Stored));
  }
}

void KeepBools(void* out, const void* in, size_t count, double /*factor*/) {
  if (out != in && count > 0) __builtin_memmove(out, in, count);
}

void StreamCopy(void* out, const void* in, size_t bytes) {
  auto* to = static_cast<char*>(out);
  const auto* from = static_cast<const char*>(in);
#if defined(__x86_64__)
  constexpr size_t kLine = 64;
  const size_t head = (kLine - (reinterpret_cast<uintptr_t>(to) % kLine)) % kLine;
  if (bytes >= head + kLine) {
    __builtin_memcpy(to, from, head);
    to += head;
    from += head;
    bytes -= head;
    for (; bytes >= kLine; to += kLine, from += kLine, bytes -= kLine) {
#if defined(__AVX512F__)
      _mm512_stream_si512(reinterpret_cast<__m512i*>(to), _mm512_loadu_si512(from));
#elif defined(__AVX2__)
      const auto* words = reinterpret_cast<const __m256i*>(from);
      auto* target = reinterpret_cast<__m256i*>(to);
      _mm256_stream_si256(target, _mm256_loadu_si256(words));
      _mm256_stream_si256(target + 1, _mm256_loadu_si256(words + 1));
#else
      const auto* words = reinterpret_cast<const __m128i*>(from);
      auto* target = reinterpret_cast<__m128i*>(to);
      _mm_stream_si128(target, _mm_loadu_si128(words));
      _mm_stream_si128(target + 1, _mm_loadu_si128(words + 1));
      _mm_stream_si128(target + 2, _mm_loadu_si128(words + 2));
      _mm_stream_si128(target + 3, _mm_loadu_si128(words + 3));
#endif
    }
    _mm_sfence();
  }
#endif
  __builtin_memcpy(to, from, bytes);
}

template <typename E>
constexpr std::array<ReduceKernel, kReduceOps> Row() {
  return {Reduce<E, Sum>, Reduce<E, Product>, Reduce<E, Min>, Reduce<E, Max>};
}

/// Bool's reductions: sum and maximum are "or", product and minimum are "and".
struct Or {
  static inline uint8_t Apply(uint8_t a, uint8_t b) { return a | b; }
};
struct And {
  static inline uint8_t Apply(uint8_t a, uint8_t b) { return a & b; }
};

/// A signed type's row: sums and products are the same as for the unsigned type; minimum and
/// maximum are not.
template <typename Unsigned, typename Signed>
constexpr std::array<ReduceKernel, kReduceOps> SignedRow() {
  return {Reduce<Element<Unsigned>, Sum>, Reduce<Element<Unsigned>, Product>,
          Reduce<Element<Signed>, Min>, Reduce<Element<Signed>, Max>};
}

/// The table, in the order of DataType.
constexpr Kernels MakeKernels(const char* name) {
  return {name,
          {Row<Element<uint8_t>>(),
           SignedRow<uint8_t, int8_t>(),
           Row<Element<uint16_t>>(),
           SignedRow<uint16_t, int16_t>(),
           Row<Element<uint32_t>>(),
           SignedRow<uint32_t, int32_t>(),
           Row<Element<uint64_t>>(),
           SignedRow<uint64_t, int64_t>(),
           Row<Float16>(),
           Row<Bfloat16>(),
           Row<Element<float>>(),
           Row<Element<double>>(),
           {Reduce<Bool, Or>, Reduce<Bool, And>, Reduce<Bool, And>, Reduce<Bool, Or>}},
          {Scale<Element<uint8_t>>, Scale<Element<int8_t>>, Scale<Element<uint16_t>>,
           Scale<Element<int16_t>>, Scale<Element<uint32_t>>, Scale<Element<int32_t>>,
           Scale<Element<uint64_t>>, Scale<Element<int64_t>>, Scale<Float16>, Scale<Bfloat16>,
           Scale<Element<float>>, Scale<Element<double>>, KeepBools},
          StreamCopy,
          {nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, Dots<Float16>,
           Dots<Bfloat16>, Dots<Element<float>>, Dots<Element<double>>, nullptr},
          {nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, Mix<Float16>,
           Mix<Bfloat16>, Mix<Element<float>>, Mix<Element<double>>, nullptr}};
}

}  // namespace
}  // namespace tony::collective::TONY_KERNEL_SET
