// Counts what a rank has done so far, and how long it took.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "collective/base/status.h"
#include "collective/request/request.h"

namespace tony::collective {

/// Counters since the ranks have met. A value.
struct Counters {
  std::array<int64_t, kOperations> tensors{};  ///< tensors done without an error, by Operation
  std::array<int64_t, kOperations> bytes{};  ///< bytes of these tensors at this rank, by Operation
  int64_t operations = 0;  ///< operations that did them; fewer than tensors, as these are fused
  int64_t failed = 0;      ///< tensors that failed
  int64_t by_number = 0;   ///< tensors submitted by a number that rank 0 knows
  int64_t by_request = 0;  ///< tensors submitted with the whole request
  /// Time in which at least one tensor of this rank waited for other ranks or for its decision.
  std::chrono::nanoseconds negotiation{0};
  /// Time that decisions waited for the decisions before them.
  std::chrono::nanoseconds queue{0};
  std::chrono::nanoseconds operation{0};   ///< time in which operations ran
  std::chrono::nanoseconds waited_for{0};  ///< time in which others waited for this rank alone
  /// At rank 0 only: `waited_for` of each rank. At the other ranks `waited_for` is what rank 0 has
  /// told them last.
  std::vector<std::chrono::nanoseconds> waited_for_ranks;
  /// At rank 0 only: what waits for so long that it was reported (StallReport::Summary()); empty:
  /// nothing.
  std::string stalled;

  /// One line "NAME NUMBER" for each counter, for the executor. The names are those of
  /// src/executor's collective_counters.h. A stall is a line "stalled TEXT".
  std::string Text() const;
};

/// Replaces the file `path` atomically: a reader sees the old contents or the new ones. Internal –
/// the file cannot be written; the message names it, and nothing stays beside it.
Status Replace(const std::string& path, const std::string& contents);

}  // namespace tony::collective
