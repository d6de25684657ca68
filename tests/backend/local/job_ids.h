// Ids as jobs of this machine have them, one for each number.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/str_format.h"

namespace tony::backend {

/// Sorts as `number` does.
inline std::string TestJobId(uint32_t number) {
  return absl::StrFormat("local-20260101-%06d-%04x", number >> 16, number & 0xffff);
}

}  // namespace tony::backend
