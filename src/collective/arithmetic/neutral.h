// The neutral elements of reductions.
#pragma once

#include <cstdint>

#include "collective/arithmetic/data_type.h"

namespace tony::collective {

/// The bits of the neutral element, which leaves each other value as it is: 0 for a sum, the
/// largest value for a minimum. A rank without data contributes it. A switch over all types, with
/// one row for each: the compiler reports a type that is left out.
constexpr uint64_t NeutralBits(DataType type, ReduceOp op) {
  struct Elements {
    uint64_t one;
    uint64_t least;
    uint64_t largest;
  };
  const auto of = [](DataType one) -> Elements {
    constexpr uint64_t kTop = uint64_t{1} << 63;
    switch (one) {
      case DataType::kInt8:
        return {1, 0x80, 0x7f};
      case DataType::kInt16:
        return {1, 0x8000, 0x7fff};
      case DataType::kInt32:
        return {1, 0x80000000, 0x7fffffff};
      case DataType::kInt64:
        return {1, kTop, kTop - 1};
      case DataType::kFloat16:  // infinities, also for the other three
        return {0x3c00, 0xfc00, 0x7c00};
      case DataType::kBfloat16:
        return {0x3f80, 0xff80, 0x7f80};
      case DataType::kFloat32:
        return {0x3f800000, 0xff800000, 0x7f800000};
      case DataType::kFloat64:
        return {0x3ff0000000000000, 0xfff0000000000000, 0x7ff0000000000000};
      case DataType::kBool:
        return {1, 0, 1};
      case DataType::kUint8:
      case DataType::kUint16:
      case DataType::kUint32:
      case DataType::kUint64:
        break;
    }
    return {1, 0, ~uint64_t{0} >> (64 - 8 * SizeOf(one))};
  };
  const Elements elements = of(type);
  if (op == ReduceOp::kProduct) return elements.one;
  if (op == ReduceOp::kMin) return elements.largest;
  if (op == ReduceOp::kMax) return elements.least;
  return 0;
}

}  // namespace tony::collective
