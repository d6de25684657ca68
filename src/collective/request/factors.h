// What results are multiplied with.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>

#include "collective/request/request.h"

namespace tony::collective {

/// For the group's result, where that of an average is its sum.
inline double FactorAfter(const Kind& kind, size_t ranks) {
  if (kind.reduce != ReduceOp::kAverage) return kind.postscale;
  const double part = 1.0 / static_cast<double>(ranks);
  // 1/49 as a number is a bit less than that, and 49 times this less than 1, which would be cut to
  // 0. With the next larger one whole numbers below 2^51 come out as by division.
  const bool round_up = !IsFloating(kind.type) && !std::has_single_bit(ranks);
  return kind.postscale * (round_up ? std::nextafter(part, 1.0) : part);
}

}  // namespace tony::collective
