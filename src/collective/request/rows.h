// Divides tensors by their first dimension.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "collective/request/request.h"

namespace tony::collective {

inline size_t AsSize(int64_t count) { return static_cast<size_t>(count); }

/// Elements of one row, that is one index of the first dimension.
inline size_t RowElements(const Request& request) {
  size_t count = 1;
  for (size_t i = 1; i < request.shape.size(); ++i) count *= AsSize(request.shape[i]);
  return count;
}

/// The number of `rows` that belong to `rank`. Rows are divided as evenly as possible; the first
/// ranks have one more.
inline size_t RowsOf(size_t rows, size_t rank, size_t ranks) {
  return rows / ranks + (rank < rows % ranks ? 1 : 0);
}

/// The rows that one rank sends and receives in an all-to-all. Each list is by rank.
struct RowsToAll {
  /// `splits`: rank after rank, the number of rows for each rank. `row_bytes`: bytes of a row.
  RowsToAll(const std::vector<int64_t>& splits, size_t rank, size_t ranks, size_t row_bytes) {
    for (size_t other = 0; other < ranks; ++other) {
      sent.push_back(AsSize(splits[rank * ranks + other]) * row_bytes);
      received_rows.push_back(splits[other * ranks + rank]);
      received.push_back(AsSize(received_rows.back()) * row_bytes);
      rows += AsSize(received_rows.back());
    }
  }

  std::vector<size_t> sent;      ///< bytes sent to each rank
  std::vector<size_t> received;  ///< bytes received from each rank
  std::vector<int64_t> received_rows;
  size_t rows = 0;  ///< rows received in all
};

}  // namespace tony::collective
