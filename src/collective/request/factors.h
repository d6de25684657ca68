// The factor that the result of a reduction is multiplied by.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>

#include "collective/request/request.h"

namespace tony::collective {

/// The factor for the group's result. For an average the group's result is a sum, so the factor
/// includes the division.
inline double FactorAfter(const Kind& kind, size_t ranks) {
  if (kind.reduce != ReduceOp::kAverage) return kind.postscale;
  const double part = 1.0 / static_cast<double>(ranks);
  // The double next to 1/49 is a bit less than 1/49; 49 times it is less than 1 and would be cut to
  // 0 for integers. With the next larger double, whole numbers below 2^51 come out as by division.
  const bool round_up = !IsFloating(kind.type) && !std::has_single_bit(ranks);
  return kind.postscale * (round_up ? std::nextafter(part, 1.0) : part);
}

}  // namespace tony::collective
