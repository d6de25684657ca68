// Element types and operations of reductions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tony::collective {

enum class DataType : uint8_t {
  kUint8,
  kInt8,
  kUint16,
  kInt16,
  kUint32,
  kInt32,
  kUint64,
  kInt64,
  kFloat16,   ///< IEEE 754 binary16
  kBfloat16,  ///< the upper half of a binary32
  kFloat32,
  kFloat64,
  kBool,  ///< one byte, 0 or 1
};
inline constexpr size_t kDataTypes = 13;

/// The reductions. Integers wrap around. A NaN makes the result a NaN, whatever the operation. For
/// bool, sum and maximum are "or"; product and minimum are "and".
enum class ReduceOp : uint8_t {
  kSum,
  kProduct,
  kMin,
  kMax,
  // The engine makes these two from reductions of groups:
  kAverage,  ///< sum divided by the number of ranks; integers are cut to whole numbers; no bool
  kAdasum,   ///< see engine/adasum.h; floating-point types only
};
/// The number of operations that kernels and groups do element by element; they come first.
inline constexpr size_t kReduceOps = 4;
/// The number of operations that a request can name.
inline constexpr size_t kRequestedReduceOps = 6;

/// The size of an element in bytes.
constexpr size_t SizeOf(DataType type) {
  constexpr std::array<size_t, kDataTypes> kSizes = {1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, 1};
  return kSizes[static_cast<size_t>(type)];
}

/// The type's name in numpy and PyTorch.
constexpr std::string_view NameOf(DataType type) {
  constexpr std::array<std::string_view, kDataTypes> kNames = {
      "uint8", "int8",    "uint16",   "int16",   "uint32",  "int32", "uint64",
      "int64", "float16", "bfloat16", "float32", "float64", "bool"};
  return kNames[static_cast<size_t>(type)];
}

constexpr std::string_view NameOf(ReduceOp op) {
  constexpr std::array<std::string_view, kRequestedReduceOps> kNames = {"sum", "product", "min",
                                                                        "max", "average", "adasum"};
  return kNames[static_cast<size_t>(op)];
}

constexpr bool IsFloating(DataType type) {
  return type == DataType::kFloat16 || type == DataType::kBfloat16 || type == DataType::kFloat32 ||
         type == DataType::kFloat64;
}

}  // namespace tony::collective
