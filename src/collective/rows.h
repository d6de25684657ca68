// How tensors are divided by their first dimension.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collective/request.h"

namespace tony::collective {

inline size_t AsSize(int64_t count) { return static_cast<size_t>(count); }

/// Elements of one index of the first dimension.
inline size_t RowElements(const Request& request) {
  size_t count = 1;
  for (size_t i = 1; i < request.shape.size(); ++i) count *= AsSize(request.shape[i]);
  return count;
}

/// Of `rows` those of a rank, as even as it gets: the first ranks have one more.
inline size_t RowsOf(size_t rows, size_t rank, size_t ranks) {
  return rows / ranks + (rank < rows % ranks ? 1 : 0);
}

}  // namespace tony::collective
